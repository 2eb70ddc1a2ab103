// SPDX-License-Identifier: Apache-2.0
// Many processes on one state directory, and processes that are killed in the middle of it.
#include "rows_fixture.hpp"
#include "state/db.hpp"
#include "state/store.hpp"
#include "util/fs.hpp"
#include "util/time.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <doctest/doctest.h>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <poll.h>
#include <random>
#include <string>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

using namespace sandbox;
using namespace sandbox::state;

namespace {

// Runs `body` in a process of its own; its return value is the exit status, 99 stands for an exception.
pid_t in_child(const std::function<int()>& body) {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid > 0) return pid;
    int status = 99;
    try {
        status = body();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(status);
}

int status_of(pid_t pid) {
    int raw = 0;
    while (::waitpid(pid, &raw, 0) < 0) {
        if (errno != EINTR) return -1;
    }
    return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

// Statuses of `count` children that all begin at the same moment, by how often each came.
std::map<int, int> race(int count, const std::function<int(int)>& body) {
    std::vector<pid_t> children;
    {
        Pipe gate = make_pipe();
        for (int i = 0; i < count; ++i) {
            children.push_back(in_child([&] {
                gate.write.reset();
                char byte = 0;
                (void)read_some(gate.read.get(), {&byte, 1}); // returns when the parent opens the gate by closing it
                return body(i);
            }));
        }
    }
    std::map<int, int> statuses;
    for (const pid_t child : children) ++statuses[status_of(child)];
    return statuses;
}

void sleep_us(long microseconds) {
    const timespec pause{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
    ::nanosleep(&pause, nullptr);
}

void check_integrity(const std::string& directory) {
    const Db db(directory + "/state.db", Db::Access::read_write);
    Stmt check = db.prepare("PRAGMA integrity_check");
    REQUIRE(check.step());
    CHECK(check.text() == "ok");
    CHECK_FALSE(db.prepare("PRAGMA foreign_key_check").step());
}

// The whole life of a row. What a later reader must find at each moment: either all of a step or nothing of it.
SessionRow row_at(const std::string& id, int step) {
    SessionRow row = full_row(id);
    const std::string number = std::to_string(step);
    row.reason = number;
    row.manifest_json = std::string(static_cast<std::size_t>(step) * 900, 'm');
    row.labels = {{"step", number}, {"label-" + number, id}};
    return row;
}

bool is_consistent(const SessionRow& row) {
    if (is_closed(row.state)) return row.closed_ms > 5 && row.reason == "over";
    const int step = std::stoi(row.reason);
    return same(row, row_at(row.id, step));
}

[[noreturn]] void live_forever(const std::string& directory, int round, int acknowledge) {
    for (int i = 0;; ++i) {
        Store store = Store::open(directory);
        const std::string id = "s" + std::to_string(round) + "-" + std::to_string(i);
        const FileLock lock = store.lock_session(id);
        store.insert(row_at(id, 0));
        write_all(acknowledge, id + "\n");
        for (int step = 1; step <= 5; ++step) store.update(row_at(id, step));
        store.put(WorkspaceRow{"uid:0", id, "v", "e", "E", {{"id", id}}, 1, 2, true});
        store.close(id, SessionState::destroyed, "over");
        if (i % 3 == 0) store.erase(id);
        store.forget_lock(id);
    }
}

} // namespace

TEST_CASE("state: 200 processes write at once, beginning with no directory at all") {
    TempDir parent;
    const std::string directory = parent.path() + "/state";
    const auto statuses = race(200, [&](int i) {
        Store store = Store::open(directory);
        const std::string id = "s" + std::to_string(i);
        store.insert(row_at(id, 0));
        store.update(row_at(id, 3));
        if (!store.transition(id, SessionState::running, SessionState::destroying, "asked")) return 2;
        if (i % 2 == 0) store.close(id, SessionState::destroyed, "over");
        return 0;
    });
    CHECK(statuses == std::map<int, int>{{0, 200}});
    const Store store = Store::open(directory);
    CHECK(store.warning().empty());
    CHECK(store.list({.owner = std::nullopt, .labels = {{"step", "3"}}, .include_closed = true}).size() == 200);
    CHECK(store.list({}).size() == 100);
    check_integrity(directory);
}

TEST_CASE("state: one instance id, whoever comes first") {
    TempDir parent;
    const std::string directory = parent.path() + "/state";
    Pipe told = make_pipe();
    const auto statuses = race(50, [&](int) {
        write_all(told.write.get(), Store::open_for_lookup(directory).instance() + "\n");
        return 0;
    });
    told.write.reset();
    CHECK(statuses == std::map<int, int>{{0, 50}});
    const std::string instance = Store::open(directory).instance();
    std::string expected;
    for (int i = 0; i < 50; ++i) expected += instance + "\n";
    CHECK(read_all(told.read.get(), 100'000) == expected);
}

TEST_CASE("state: a garbage file is set aside once, by whoever comes first") {
    TempDir directory;
    const std::string instance = Store::open(directory.path()).instance();
    {
        AtomicFile file(AT_FDCWD, directory.path() + "/state.db", 0600);
        write_all(file.fd(), std::string(5000, 'g'));
        file.publish();
    }
    const auto statuses = race(30, [&](int i) {
        Store store = Store::open(directory.path());
        store.insert(row_at("s" + std::to_string(i), 0));
        return store.instance() == instance ? (store.warning().empty() ? 0 : 1) : 2;
    });
    CHECK(statuses == std::map<int, int>{{0, 29}, {1, 1}});
    CHECK(Store::open(directory.path()).list({}).size() == 30);
}

TEST_CASE("state: of many creates of one name, one wins") {
    TempDir directory;
    const auto statuses = race(40, [&](int i) {
        Store store = Store::open(directory.path());
        SessionRow row = plain_row("s" + std::to_string(i));
        row.name = "web";
        const Error error = failure_of([&] { store.insert(row); });
        if (error.code() == ErrorCode::exists) return 4;
        return error.message() == "did not fail" ? 0 : 1;
    });
    CHECK(statuses == std::map<int, int>{{0, 1}, {4, 39}});
    CHECK(Store::open(directory.path()).list({}).size() == 1);
}

TEST_CASE("state: of many creates on one workspace, one holds the lease") {
    TempDir directory;
    const auto statuses = race(40, [&](int i) {
        Store store = Store::open(directory.path());
        const Error error = failure_of([&] { store.insert(leasing_row("s" + std::to_string(i), "project-42")); });
        return error.code() == ErrorCode::exists ? 4 : 0;
    });
    CHECK(statuses == std::map<int, int>{{0, 1}, {4, 39}});
}

TEST_CASE("state: killed at 100 random moments, every row is whole and no acknowledged one is lost") {
    TempDir directory;
    std::mt19937 random(42);
    std::vector<std::string> acknowledged;
    for (int round = 0; round < 100; ++round) {
        Pipe told = make_pipe();
        const pid_t child = in_child([&]() -> int { live_forever(directory.path(), round, told.write.get()); });
        told.write.reset();
        // Half of them from the start, half from its first row on: a slow disk must not make this a test of the start only.
        pollfd first_row{told.read.get(), POLLIN, 0};
        if (round % 2 == 0) ::poll(&first_row, 1, 30'000);
        sleep_us(static_cast<long>(random() % 30'000));
        ::kill(child, SIGKILL);
        REQUIRE(status_of(child) == 128 + SIGKILL);

        const Store store = Store::open(directory.path());
        REQUIRE(store.warning().empty());
        for (const auto& row : store.list({.owner = std::nullopt, .labels = {}, .include_closed = true})) {
            CAPTURE(row.id);
            REQUIRE(is_consistent(row));
            // Nobody holds the dead one's lock.
            REQUIRE(store.try_lock_session(row.id));
            store.forget_lock(row.id);
        }
        for (const auto& workspace : store.list_workspaces(std::nullopt)) REQUIRE(workspace.labels.at("id") == workspace.id);
        std::string id;
        for (const char c : read_all(told.read.get(), 1 << 20)) {
            if (c != '\n') id += c;
            else acknowledged.push_back(std::exchange(id, {}));
        }
    }
    check_integrity(directory.path());
    CHECK(acknowledged.size() >= 50);
    const Store store = Store::open(directory.path());
    for (const auto& id : acknowledged) {
        const int number = std::stoi(id.substr(id.find('-') + 1));
        if (number % 3 != 0) REQUIRE(store.find(id)); // the others may be erased
    }
}

TEST_CASE("state: killed while the directory is being made, 100 times") {
    std::mt19937 random(43);
    for (int round = 0; round < 100; ++round) {
        TempDir parent;
        const std::string directory = parent.path() + "/state";
        const pid_t child = in_child([&] {
            Store::open(directory).insert(plain_row("s1"));
            return 0;
        });
        sleep_us(static_cast<long>(random() % 8'000));
        ::kill(child, SIGKILL);
        (void)status_of(child);
        Store store = Store::open(directory);
        REQUIRE(store.warning().empty());
        const std::string instance = store.instance();
        store.insert(plain_row("s2"));
        REQUIRE(Store::open_for_lookup(directory).instance() == instance);
    }
}
