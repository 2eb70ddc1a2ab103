// SPDX-License-Identifier: Apache-2.0
#include "state/events.hpp"

#include "util/fs.hpp"
#include "util/time.hpp"

#include <atomic>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <poll.h>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::state;

namespace {

Event numbered(std::int64_t number) {
    return {.kind = EventKind::exec_ended, .session = "s1", .name = "web", .owner = "uid:0", .details = {{"number", number}}};
}

std::int64_t number_of(const Event& event) { return std::get<std::int64_t>(event.details.at(0).second); }

std::vector<std::int64_t> numbers_in(EventReader& reader) {
    std::vector<std::int64_t> numbers;
    reader.read([&](const Event& event) { numbers.push_back(number_of(event)); });
    return numbers;
}

std::vector<std::int64_t> numbers_in(const EventLog& log) {
    EventReader reader(log);
    return numbers_in(reader);
}

std::string content(const std::string& path) { return read_file(path).value_or(""); }

} // namespace

TEST_CASE("events: a line holds what was recorded, whatever bytes that are") {
    Event event{.kind = EventKind::exec_ended,
                .time_ms = 1'764'440'460'123,
                .session = "s1",
                .name = "web",
                .owner = "uid:0",
                .details = {{"command", std::string("sh -c \"\xff\n\x1b[31m\"")}, {"exitCode", std::int64_t{3}}, {"oom", true}}};
    const std::string line = event_line(event);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(line.find("\"time\":\"2025-11-29T18:21:00.123Z\"") != std::string::npos);
    const auto again = parse_event(line);
    REQUIRE(again);
    CHECK(again->time_ms == event.time_ms);
    CHECK(again->kind == event.kind);
    CHECK(again->session == "s1");
    CHECK(std::get<std::string>(again->details.at(0).second) == "sh -c \"\xEF\xBF\xBD\n\x1b[31m\"");
    CHECK(std::get<std::int64_t>(again->details.at(1).second) == 3);
    CHECK(std::get<bool>(again->details.at(2).second));
    event.details = {{"command", std::string(100'000, 'x')}};
    CHECK(event_line(event).size() < 1024);
    for (const auto* damaged : {"", "{", "[]", "{}", R"({"event":"exec.ended"})", R"({"time":"2025-11-29T18:21:00Z","event":"of.tomorrow"})"}) {
        CHECK_FALSE(parse_event(damaged));
    }
}

TEST_CASE("events: every kind has a name of its own") {
    std::set<std::string_view> names;
    for (int kind = 0; kind <= static_cast<int>(EventKind::collected); ++kind) {
        const auto name = event_name(static_cast<EventKind>(kind));
        CHECK(names.insert(name).second);
        CHECK(event_from_name(name) == static_cast<EventKind>(kind));
    }
    CHECK_FALSE(event_from_name("session"));
}

TEST_CASE("events: read in order, over files that were moved on, of which the oldest go") {
    const TempDir directory;
    const EventLog log(directory.path() + "/events.jsonl", 1000, 2);
    for (int i = 0; i < 100; ++i) REQUIRE(log.append(numbered(i)));
    const auto numbers = numbers_in(log);
    REQUIRE(numbers.size() > 10);
    CHECK(numbers.size() < 40);
    for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == static_cast<std::int64_t>(100 - numbers.size() + i));
    CHECK(std::filesystem::exists(log.path() + ".2"));
    CHECK_FALSE(std::filesystem::exists(log.path() + ".3"));
}

TEST_CASE("events: a reader gets each event once while files are moved on under it") {
    const TempDir directory;
    const EventLog log(directory.path() + "/events.jsonl", 2000, 3);
    EventReader reader(log);
    std::vector<std::int64_t> seen;
    for (int i = 0; i < 400; ++i) {
        REQUIRE(log.append(numbered(i)));
        if (i % 29 != 0) continue; // about one file further each time, never more than are kept
        for (const auto number : numbers_in(reader)) seen.push_back(number);
    }
    for (const auto number : numbers_in(reader)) seen.push_back(number);
    REQUIRE(seen.size() == 400);
    for (int i = 0; i < 400; ++i) CHECK(seen[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("events: programs that append at once lose nothing and mix no lines") {
    const TempDir directory;
    const EventLog log(directory.path() + "/events.jsonl", 20'000, 100);
    constexpr int k_programs = 4;
    constexpr int k_events = 500;
    for (int program = 0; program < k_programs; ++program) {
        if (::fork() != 0) continue;
        bool written = true;
        for (int i = 0; i < k_events; ++i) written = log.append(numbered(program * k_events + i)) && written;
        ::_exit(written ? 0 : 1);
    }
    for (int program = 0; program < k_programs; ++program) {
        int status = -1;
        REQUIRE(::wait(&status) > 0);
        CHECK(status == 0);
    }
    std::set<std::int64_t> seen;
    for (const auto number : numbers_in(log)) CHECK(seen.insert(number).second);
    CHECK(seen.size() == k_programs * k_events);
}

TEST_CASE("events: damaged lines are passed over, and the one after half a line is whole") {
    const TempDir directory;
    const EventLog log(directory.path() + "/events.jsonl", 1 << 20, 1);
    REQUIRE(log.append(numbered(1)));
    std::ofstream(log.path(), std::ios::app) << "no json\n" << std::string(300'000, 'x') << "\n{\"time\":\"2025-";
    REQUIRE(log.append(numbered(2)));
    CHECK(numbers_in(log) == std::vector<std::int64_t>{1, 2});
    CHECK(content(log.path()).find("{\"time\":\"2025-\n{") != std::string::npos);
}

TEST_CASE("events: a reader hears of new ones") {
    const TempDir directory;
    const EventLog log(directory.path() + "/events.jsonl", 1 << 20, 1);
    EventReader reader(log);
    CHECK(numbers_in(reader).empty());
    const std::jthread writer([&] { log.append(numbered(7)); });
    std::vector<std::int64_t> seen;
    while (seen.empty()) {
        pollfd more{reader.fd(), POLLIN, 0};
        REQUIRE(::poll(&more, 1, 30'000) == 1);
        seen = numbers_in(reader);
    }
    CHECK(seen == std::vector<std::int64_t>{7});
}

TEST_CASE("events: what can't be recorded is no error") {
    CHECK_FALSE(EventLog("/nonexistent/events.jsonl", 1000, 1).append(numbered(1)));
    CHECK(numbers_in(EventLog("/nonexistent/events.jsonl", 1000, 1)).empty());
    const TempDir directory;
    REQUIRE(::symlink("/etc/passwd", (directory.path() + "/events.jsonl").c_str()) == 0);
    CHECK_FALSE(EventLog(directory.path() + "/events.jsonl", 1000, 1).append(numbered(1)));
}
