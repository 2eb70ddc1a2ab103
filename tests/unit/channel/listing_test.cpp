// SPDX-License-Identifier: Apache-2.0
#include "agent/files_messages.hpp"
#include "live_agent.hpp"
#include "util/error.hpp"

#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>

using namespace sandbox;
using namespace sandbox::channel;
using namespace sandbox::channel::test;

namespace {

constexpr Milliseconds k_deadline{20'000};

std::string names(const LiveAgent& agent, const std::string& directory, const std::string& prefix = "") {
    auto listed = list_names(agent.link(), directory, prefix, k_deadline);
    std::ranges::sort(listed, {}, &ListedName::name);
    std::string text;
    for (const auto& entry : listed) text += entry.name + (entry.is_directory ? "/ " : " ");
    return text;
}

ErrorCode code_of(const LiveAgent& agent, const std::string& directory) {
    try {
        list_names(agent.link(), directory, "", k_deadline);
    } catch (const Error& error) {
        return error.code();
    }
    FAIL("listed");
    return ErrorCode::internal;
}

std::string payload_of(const std::string& frame) { return frame.substr(5); }

} // namespace

TEST_CASE("the names in a directory, those that begin as asked") {
    LiveAgent agent;
    agent.shell("mkdir -p out/deep; touch out/report.md out/.hidden; ln -s /etc out/link");
    CHECK(names(agent, "") == "out/ ");
    CHECK(names(agent, "out") == ".hidden deep/ link report.md ");
    CHECK(names(agent, "out/", "re") == "report.md ");
    CHECK(names(agent, agent.workdir() + "/out", "d") == "deep/ ");
    CHECK(names(agent, "/", "et") == "etc/ ");
}

TEST_CASE("a listing stays in the workspace, and what cannot be listed is an error") {
    LiveAgent agent;
    agent.shell("ln -s /etc outside; touch file");
    CHECK(code_of(agent, "outside") == ErrorCode::denied);
    CHECK(code_of(agent, "../..") == ErrorCode::denied);
    CHECK(code_of(agent, "nosuch") == ErrorCode::not_found);
    CHECK(code_of(agent, "file") == ErrorCode::failed);
}

TEST_CASE("listing is looking: the idle time goes on") {
    LiveAgent::Options options;
    options.setup.idle_timeout_ms = 60'000;
    LiveAgent agent(std::move(options));
    agent.shell("true"); // the last activity
    std::int64_t before = -1; // busy
    CHECK(eventually([&] { return (before = status(agent.link()).idle_left_ms) >= 0 && before <= 59'900; }));
    names(agent, "");
    const std::int64_t after = status(agent.link()).idle_left_ms;
    CHECK(after >= 0);
    CHECK(after <= before);
    agent.shell("true");
    CHECK(eventually([&] { return status(agent.link()).idle_left_ms > before; }));
}

TEST_CASE("as many names as fit in one frame, and none that could be a path") {
    using namespace sandbox::agent;
    NamesMessage most;
    most.names.assign(k_max_names, {std::string(k_max_name, 'x'), true});
    CHECK(decode_names(payload_of(encode(most))).names.size() == k_max_names);
    CHECK_THROWS_AS(decode_names(payload_of(encode(NamesMessage{{{"x", false}}})) + "z"), WireError);
    for (const std::string bad : {"", ".", "..", "a/b"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(decode_names(payload_of(encode(NamesMessage{{{bad, false}}}))), WireError);
    }
    CHECK_THROWS_AS(decode_names(payload_of(encode(NamesMessage{{{std::string("a\0b", 3), false}}}))), WireError);
    CHECK_THROWS_AS(decode_names(std::string("\xff\xff\xff\xff", 4)), WireError);
    const ListMessage asked = decode_list(payload_of(encode(ListMessage{"out", "re"})));
    CHECK(asked.directory == "out");
    CHECK(asked.prefix == "re");
}
