// SPDX-License-Identifier: Apache-2.0
// Managed processes, by a real agent: their lives, their logs, and what PID 1 makes of their keepers.
#include "channel/managed.hpp"

#include "channel/managed_log.hpp"
#include "agent/messages.hpp"
#include "live_agent.hpp"
#include "util/error.hpp"

#include <algorithm>
#include <csignal>
#include <doctest/doctest.h>
#include <future>
#include <sys/socket.h>

using namespace sandbox;
using namespace sandbox::channel;
using namespace sandbox::channel::test;
using Ready = StartedProcess::Ready;

namespace {

ProcessRequest shell_process(const std::string& script, const std::string& name = "") {
    ProcessRequest request;
    request.argv = {"sh", "-c", script};
    request.name = name;
    request.grace = Milliseconds(300);
    request.log_limit = 64'000;
    request.max_processes = 4;
    request.ready_timeout = Milliseconds(10'000);
    return request;
}

StartedProcess start(const LiveAgent& agent, const ProcessRequest& request) {
    return start_process(agent.link(), request, [](const ManagedProcess&) {});
}

std::string start_id(const LiveAgent& agent, const std::string& script, const std::string& name = "") {
    const auto started = start(agent, shell_process(script, name));
    REQUIRE(started.process);
    return started.process->id;
}

ManagedProcess wait(const LiveAgent& agent, const std::string& process) {
    const auto ended = wait_process(agent.link(), process, Milliseconds(20'000));
    REQUIRE(ended);
    return *ended;
}

ManagedProcess look(const LiveAgent& agent, const std::string& id) {
    for (const auto& process : list_processes(agent.link())) {
        if (process.id == id) return process;
    }
    FAIL("not listed: " << id);
    return {};
}

struct Log {
    std::string out;
    std::string err;
    std::string all; // as it came
    std::uint64_t dropped = 0;
    std::uint64_t next = 0;
};

Log read(const LiveAgent& agent, const LogQuery& query, Follow follow = Follow::no) {
    LogReader reader(agent.link(), query, follow);
    Log log;
    while (const auto piece = reader.next()) {
        (piece->stream == OutputStream::out ? log.out : log.err) += piece->bytes;
        log.all += piece->bytes;
        log.dropped += piece->dropped;
    }
    log.next = reader.position();
    return log;
}

// An agent that says these frames whatever it is asked, and hangs up or not.
class LyingAgent {
  public:
    explicit LyingAgent(std::string frames, bool hangs_up = false) {
        m_link.dial = [this, frames = std::move(frames), hangs_up]() -> std::unique_ptr<Stream> {
            int ends[2];
            REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
            m_end.reset(ends[1]);
            agent::HelloMessage hello;
            hello.nonce = "nonce";
            write_all(m_end.get(), agent::encode(hello) + frames);
            if (hangs_up) ::shutdown(m_end.get(), SHUT_WR);
            return std::make_unique<SocketStream>(Fd(ends[0]));
        };
    }
    const Link& link() const { return m_link; }

  private:
    Link m_link;
    Fd m_end;
};

std::string log_frame(agent::LogStream stream, std::uint64_t offset, std::string_view bytes, std::uint64_t dropped = 0) {
    return agent::encode(agent::LogFrame{.stream = stream, .offset = offset, .time_ms = 1, .dropped = dropped, .bytes = bytes});
}

ErrorCode code_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.code();
    }
    return ErrorCode::internal;
}

} // namespace

TEST_CASE("I1: a process outlives whoever started it; its output and its status are kept") {
    const LiveAgent agent;
    const std::string id = start_id(agent, "echo up; echo boom >&2; exit 3", "web");
    CHECK(id == "p1");
    const auto ended = wait(agent, "web");
    CHECK(ended.id == id);
    CHECK(ended.state == ManagedState::exited);
    CHECK(ended.exit_status == 3);
    CHECK(ended.command == std::vector<std::string>{"sh", "-c", "echo up; echo boom >&2; exit 3"});
    CHECK(ended.cwd == agent.workdir() + "/");
    CHECK(ended.ended_ms >= ended.started_ms);
    const Log log = read(agent, {.process = id});
    CHECK(log.out == "up\n");
    CHECK(log.err == "boom\n");
    CHECK(log.next == 8);
    CHECK(look(agent, id).state == ManagedState::exited);
}

TEST_CASE("stop ends the whole tree, whatever it does to hide, and is told as stopped") {
    const LiveAgent agent;
    SUBCASE("TERM is enough") {
        auto request = shell_process("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done", "web");
        request.ready_log = "up";
        CHECK(start(agent, request).ready == Ready::ready);
        const auto stopped = stop_process(agent.link(), "web", std::nullopt);
        CHECK(stopped.state == ManagedState::stopped);
        CHECK(stopped.exit_status == 7);
        CHECK(read(agent, {.process = "web"}).out.ends_with("bye\n"));
    }
    SUBCASE("one that ignores it, in sessions of its own") {
        const auto started = start(agent, [] {
            auto request = shell_process("trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 62.5' & (setsid sleep 62.5 &); echo up; sleep 62.5", "web");
            request.ready_log = "up";
            return request;
        }());
        CHECK(started.ready == Ready::ready);
        CHECK(eventually([&] { return agent.count_processes("sleep 62.5") >= 3; }));
        const auto stopped = stop_process(agent.link(), "web", Milliseconds(100));
        CHECK(stopped.state == ManagedState::stopped);
        CHECK(stopped.left_running == 0);
        CHECK(agent.count_processes("sleep 62.5") == 0);
        CHECK(stop_process(agent.link(), "web", std::nullopt).state == ManagedState::stopped);
    }
}

TEST_CASE("a leader that daemonises is told with what it left; that counts as running, and stop ends it") {
    const LiveAgent agent;
    auto request = shell_process("setsid sh -c 'while :; do sleep 0.05; done' & exit 0", "daemon");
    request.max_processes = 1;
    REQUIRE(start(agent, request).process);
    const auto ended = wait(agent, "daemon");
    CHECK(ended.state == ManagedState::exited);
    CHECK(ended.exit_status == 0);
    CHECK(ended.left_running >= 1);
    CHECK(ended.is_running());
    CHECK(code_of([&] { start(agent, request); }) == ErrorCode::exists);
    request.name = "other";
    CHECK(code_of([&] { start(agent, request); }) == ErrorCode::limit_exceeded);
    const auto stopped = stop_process(agent.link(), "daemon", std::nullopt);
    CHECK(stopped.left_running == 0);
    CHECK(stopped.state == ManagedState::exited);
    CHECK(start(agent, request).process);
}

TEST_CASE("what can't be started is no process") {
    const LiveAgent agent;
    ProcessRequest request = shell_process("");
    request.argv = {"no-such-program"};
    const auto started = start(agent, request);
    CHECK_FALSE(started.process);
    CHECK(started.failure.outcome == Outcome::start_failed);
    CHECK(started.failure.start_errno == ENOENT);
    CHECK(list_processes(agent.link()).empty());
    request.argv = {"true"};
    request.cwd = "nowhere";
    CHECK(start(agent, request).failure.message == "chdir");
    CHECK(code_of([&] { read(agent, {.process = "p1"}); }) == ErrorCode::not_found);
    CHECK(code_of([&] { read(agent, {.process = "../x"}); }) == ErrorCode::not_found);
}

TEST_CASE("what can't be started uses up no id, and nobody sees it on its way") {
    const LiveAgent agent;
    ProcessRequest bad = shell_process("", "web");
    bad.argv = {"no-such-program"};
    CHECK_FALSE(start(agent, bad).process);
    CHECK(start_id(agent, "exit 0", "web") == "p1");
    wait(agent, "web");
    CHECK_FALSE(start(agent, bad).process);
    CHECK(look(agent, "p1").state == ManagedState::exited);
    CHECK(start_id(agent, "true") == "p2");
}

TEST_CASE("whoever does not wait any more for it to be ready leaves it as it is") {
    const LiveAgent agent;
    auto request = shell_process("sleep 60", "web");
    request.ready_log = "never";
    std::string id;
    const auto leave = [](int, std::int64_t) { throw Error(ErrorCode::interrupted, "enough"); };
    CHECK(code_of([&] { start_process(agent.link(), request, [&](const ManagedProcess& process) { id = process.id; }, leave); }) == ErrorCode::interrupted);
    CHECK(id == "p1");
    CHECK(look(agent, id).state == ManagedState::running);
    CHECK(eventually([&] { return status(agent.link()).operations == 0; }));
}

TEST_CASE("names: one that runs has it, the last that had it otherwise") {
    const LiveAgent agent;
    const std::string first = start_id(agent, "sleep 60", "web");
    CHECK(code_of([&] { start(agent, shell_process("true", "web")); }) == ErrorCode::exists);
    stop_process(agent.link(), "web", std::nullopt);
    const std::string second = start_id(agent, "echo second; sleep 60", "web");
    CHECK(second != first);
    CHECK(eventually([&] { return read(agent, {.process = "web"}).out == "second\n"; }));
    CHECK(look(agent, first).state == ManagedState::stopped);
}

TEST_CASE("the log is bounded for each stream, and what is missing is told") {
    const LiveAgent agent;
    auto request = shell_process("echo early >&2; i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo late >&2");
    request.log_limit = 2000;
    const auto started = start(agent, request);
    wait(agent, "p1");
    const Log log = read(agent, {.process = "p1"}, Follow::yes);
    CHECK(log.out.size() == 2000);
    CHECK(log.out.ends_with("line 2999\n"));
    CHECK(log.err == "early\nlate\n");
    CHECK(log.dropped + log.out.size() + log.err.size() == log.next);
    // A reader that comes back goes on where it was.
    const Log rest = read(agent, {.process = "p1", .after = log.next - 15});
    CHECK(rest.all == log.all.substr(log.all.size() - 15));
    CHECK(rest.dropped == 0);
    const std::string tail = read(agent, {.process = "p1", .tail = 2}).all;
    CHECK(log.all.ends_with(tail));
    CHECK(std::count(tail.begin(), tail.end(), '\n') == 2);
    CHECK(read(agent, {.process = "p1", .tail = 0}).out.empty());
    CHECK(read(agent, {.process = "p1", .since_ms = wall_now_ms() + 60'000}).out.empty());
    CHECK(code_of([&] { read(agent, {.process = "p1", .after = log.next + 1}); }) == ErrorCode::conflict);
}

TEST_CASE("a follower that keeps up hears every byte of more than is kept") {
    const LiveAgent agent;
    auto request = shell_process("while [ ! -e go ]; do sleep 0.02; done; i=0; while [ $i -lt 40 ]; do head -c 5000 /dev/zero; i=$((i+1)); done");
    request.log_limit = 2000;
    start(agent, request);
    auto follower = std::async(std::launch::async, [&] { return read(agent, {.process = "p1"}, Follow::yes); });
    CHECK(eventually([&] { return status(agent.link()).operations == 1; }));
    agent.shell("touch go");
    const Log log = follower.get();
    CHECK(log.dropped == 0);
    CHECK(log.out.size() == 200'000);
}

TEST_CASE("a follower hears all, up to the end; one that does not read holds up nobody") {
    const LiveAgent agent;
    auto request = shell_process("while [ ! -e go ]; do sleep 0.02; done; head -c 30000000 /dev/zero; echo end");
    request.log_limit = 1 << 20;
    start(agent, request);
    const LogReader idle(agent.link(), {.process = "p1"}, Follow::yes);
    auto follower = std::async(std::launch::async, [&] { return read(agent, {.process = "p1"}, Follow::yes); });
    agent.shell("touch go");
    CHECK(wait(agent, "p1").exit_status == 0);
    const Log log = follower.get();
    CHECK(log.out.ends_with("end\n"));
    CHECK(log.out.size() + log.dropped == 30'000'004);
}

TEST_CASE("restart on failure: so many times, and the last status stays") {
    const LiveAgent agent;
    auto request = shell_process("echo run; test -e leave && exit 0; exit 5", "web");
    request.max_restarts = 2;
    start(agent, request);
    SUBCASE("it never works") {
        const auto ended = wait(agent, "web");
        CHECK(ended.exit_status == 5);
        CHECK(ended.restarts == 2);
        CHECK(read(agent, {.process = "web"}).out == "run\nrun\nrun\n");
    }
    SUBCASE("stopped between two attempts") {
        CHECK(eventually([&] { return look(agent, "p1").restarts > 0; }));
        CHECK(stop_process(agent.link(), "web", std::nullopt).state != ManagedState::restarting);
        CHECK_FALSE(look(agent, "p1").is_running());
    }
}

TEST_CASE("ready: by what it prints, by its port; never once it has ended") {
    const LiveAgent agent;
    SUBCASE("a text that comes in two pieces") {
        auto request = shell_process("printf 'now lis'; sleep 0.2; echo 'tening'; sleep 60");
        request.ready_log = "listening";
        CHECK(start(agent, request).ready == Ready::ready);
    }
    SUBCASE("it ends first") {
        auto request = shell_process("echo not yet; exit 1");
        request.ready_log = "listening";
        const auto started = start(agent, request);
        CHECK(started.ready == Ready::ended);
        CHECK(started.process->exit_status == 1);
    }
    SUBCASE("it takes too long, and goes on") {
        auto request = shell_process("sleep 60");
        request.ready_log = "listening";
        request.ready_port = 9;
        request.ready_timeout = Milliseconds(200);
        const auto started = start(agent, request);
        CHECK(started.ready == Ready::timed_out);
        CHECK_FALSE(started.port_seen);
        CHECK_FALSE(started.log_seen);
        CHECK(look(agent, "p1").state == ManagedState::running);
    }
}

TEST_CASE("a keeper that is killed loses its own process alone, which is told as aborted") {
    const LiveAgent agent;
    start_id(agent, "exec sleep 63.5", "other");
    auto request = shell_process("setsid sleep 64.5 & while [ ! -e go ]; do sleep 0.02; done; kill -9 $PPID; sleep 64.5", "victim");
    const auto started = start(agent, request);
    REQUIRE(started.process);
    agent.shell("touch go");
    CHECK(eventually([&] { return look(agent, "p2").state == ManagedState::aborted; }));
    CHECK(agent.eventually_none("sleep 64.5"));
    CHECK(agent.count_processes("sleep 63.5") == 1);
    CHECK(wait(agent, "victim").state == ManagedState::aborted);
    CHECK(code_of([&] { read(agent, {.process = "victim"}); }) == ErrorCode::aborted);
    CHECK(look(agent, "p1").state == ManagedState::running);
    CHECK(eventually([&] { return status(agent.link()).operations == 0; }));
}

TEST_CASE("a managed process alone is no activity, unless it was asked to be; a follower and a waiter are") {
    const LiveAgent agent;
    start_id(agent, "exec sleep 60", "plain");
    CHECK(eventually([&] { return status(agent.link()).operations == 0; }));
    {
        const LogReader follower(agent.link(), {.process = "plain"}, Follow::yes);
        CHECK(eventually([&] { return status(agent.link()).operations == 1; }));
    }
    CHECK(eventually([&] { return status(agent.link()).operations == 0; }));
    auto request = shell_process("sleep 60", "kept");
    request.keep_alive = true;
    start(agent, request);
    CHECK(eventually([&] { return status(agent.link()).operations == 1; }));
    stop_process(agent.link(), "kept", std::nullopt);
    CHECK(eventually([&] { return status(agent.link()).operations == 0; }));
    // The session's processes, and none of the agent's own.
    CHECK(status(agent.link()).processes == 1);
}

TEST_CASE("ended ones stay, up to sixteen") {
    const LiveAgent agent;
    for (int i = 0; i < 20; ++i) {
        const std::string id = start_id(agent, "echo " + std::to_string(i));
        wait(agent, id);
    }
    CHECK(eventually([&] { return list_processes(agent.link()).size() == 16; }));
    CHECK(list_processes(agent.link()).front().id == "p5");
    CHECK(read(agent, {.process = "p20"}).out == "19\n");
    CHECK(code_of([&] { read(agent, {.process = "p4"}); }) == ErrorCode::not_found);
}

TEST_CASE("the session's end ends managed processes, restarts none, and tells who waits") {
    LiveAgent::Options options;
    options.setup.ttl_boot_ms = boot_now_ms() + 4000;
    options.setup.grace_ms = 300;
    LiveAgent agent(std::move(options));
    auto request = shell_process("trap 'exit 1' TERM; echo up; while :; do sleep 0.05; done", "web");
    request.max_restarts = 5;
    request.ready_log = "up";
    start(agent, request);
    const auto ended = wait(agent, "web");
    CHECK(ended.expired);
    CHECK(ended.state == ManagedState::stopped);
    CHECK(ended.restarts == 0);
    CHECK(agent.ends_within(Milliseconds(15'000)));
}

TEST_CASE("an agent that lies about a log is caught at it; a log that is cut has no end") {
    using agent::LogStream;
    const auto read_from = [](const std::string& frames, bool hangs_up = false, std::uint64_t after = 0) {
        const LyingAgent agent(frames, hangs_up);
        LogReader reader(agent.link(), {.process = "web", .after = after}, Follow::no);
        while (reader.next()) {
        }
    };
    const std::string piece = log_frame(LogStream::out, 0, "abc");
    const std::uint64_t far = UINT64_MAX - 2;
    agent::ManagedInfo info;
    info.id = "p1";
    const auto end = [&](std::uint64_t next) { return agent::encode(agent::LogEnd{next, info}); };
    CHECK_NOTHROW(read_from(piece + end(3)));
    CHECK(code_of([&] { read_from(piece, true); }) == ErrorCode::session_unreachable);
    CHECK(code_of([&] { read_from("", true); }) == ErrorCode::session_unreachable);
    CHECK(code_of([&] { read_from(piece + end(4)); }) == ErrorCode::protocol_error);
    CHECK(code_of([&] { read_from(piece + piece); }) == ErrorCode::protocol_error);
    CHECK(code_of([&] { read_from(log_frame(LogStream::out, 0, "")); }) == ErrorCode::protocol_error);
    CHECK(code_of([&] { read_from(log_frame(LogStream::gap, 0, "", 0)); }) == ErrorCode::protocol_error);
    CHECK(code_of([&] { read_from(log_frame(LogStream::gap, 5, "", far)); }) == ErrorCode::protocol_error);
    CHECK(code_of([&] { read_from(log_frame(LogStream::out, far, "abc")); }) == ErrorCode::protocol_error);
    CHECK(code_of([&] { read_from(piece, false, 2); }) == ErrorCode::conflict);
    CHECK(code_of([&] { read_from(end(1), false, 2); }) == ErrorCode::conflict);
    CHECK(code_of([&] { read_from(agent::encode(agent::FailureMessage{"not_found", "no"})); }) == ErrorCode::not_found);
    CHECK(code_of([&] { read_from(agent::encode(agent::FailureMessage{"interrupted", "no"})); }) == ErrorCode::failed);
    info.id = "";
    CHECK(code_of([&] { read_from(piece + end(3)); }) == ErrorCode::protocol_error);
    CHECK(code_of([&] { list_processes(LyingAgent(agent::encode(info)).link()); }) == ErrorCode::protocol_error);
    CHECK(code_of([&] { list_processes(LyingAgent(piece).link()); }) == ErrorCode::protocol_error);
}
