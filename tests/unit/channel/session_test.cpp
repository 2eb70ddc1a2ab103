// SPDX-License-Identifier: Apache-2.0
#include "live_agent.hpp"

#include "agent/bridge.hpp"
#include "channel/connection.hpp"
#include "channel/hold.hpp"
#include "util/error.hpp"

#include <csignal>
#include <doctest/doctest.h>
#include <future>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::channel;
using namespace sandbox::channel::test;

namespace {

LiveAgent::Options with_deadlines(std::int64_t ttl_ms, std::int64_t idle_ms) {
    LiveAgent::Options options;
    options.setup.ttl_boot_ms = ttl_ms == 0 ? 0 : boot_now_ms() + ttl_ms;
    options.setup.idle_timeout_ms = idle_ms;
    options.setup.grace_ms = 300;
    return options;
}

// A stream through the agent's own bridge program, as an engine exec would run it.
std::unique_ptr<Stream> bridge_stream(const std::string& name) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return nullptr;
    const Fd theirs(ends[1]);
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::dup2(ends[1], 0);
        ::dup2(ends[1], 1);
        ::execl(SANDBOX_AGENT, "sandbox-agent", "bridge", "--bridge", name.c_str(), nullptr);
        ::_exit(127);
    }
    return std::make_unique<SocketStream>(Fd(ends[0]));
}

} // namespace

TEST_CASE("the hand-shake says who the agent is") {
    LiveAgent agent;
    CHECK(agent.hello().uid == 0);
    CHECK(agent.hello().workspace_writable);
    CHECK(agent.hello().agent_version == SANDBOX_VERSION);
    struct stat info {};
    CHECK(::stat((agent.session_directory() + "/channel/hello.sock").c_str(), &info) != 0);
    const Status now = status(agent.link());
    CHECK(now.operations == 0);
    CHECK(now.processes == 0);
    CHECK(now.idle_left_ms == -1);
}

TEST_CASE("an agent that is slow to say hello is waited for as long as it can still say it") {
    LiveAgent agent;
    std::optional<Fd> hello_to_come;
    Link link;
    // The other end says nothing until the silence was noticed.
    link.dial = [&]() -> std::unique_ptr<Stream> {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        hello_to_come.emplace(ends[1]);
        return std::make_unique<SocketStream>(Fd(ends[0]));
    };
    SUBCASE("it is only busy") {
        std::jthread answering;
        link.on_silence = [&] {
            answering = std::jthread([&] {
                agent::FramedStream from_agent(agent.link().dial());
                const agent::FrameView hello = read_before(from_agent, boot_now_ms() + 10'000);
                const std::string frame = agent::frame_header(hello.type, hello.payload.size()) + std::string(hello.payload);
                CHECK(::send(hello_to_come->get(), frame.data(), frame.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size()));
            });
        };
        CHECK_NOTHROW(open_connection(link, agent::Operation::status));
    }
    SUBCASE("it never will") {
        link.on_silence = [] { throw Error(ErrorCode::session_unreachable, "frozen"); };
        CHECK_THROWS_WITH(open_connection(link, agent::Operation::status), "frozen");
    }
    SUBCASE("the caller has no more time") {
        link.on_silence = [] { FAIL("asked although there is no time for it"); };
        CHECK_THROWS_AS(open_connection(link, agent::Operation::status, {}, Milliseconds(50)), Error);
    }
}

TEST_CASE("without an agent the listener gives up, and nothing answers") {
    const TempDir directory;
    HelloListener listener(directory.path());
    CHECK_FALSE(listener.accept({}, Milliseconds(50)));
    const TempDir empty;
    try {
        status(socket_link(empty.path()));
        FAIL("nothing is there");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::session_unreachable);
    }
}

TEST_CASE("an agent that nobody sets up goes away") {
    LiveAgent::Options options;
    options.handshake = false;
    options.handshake_ms = 200;
    LiveAgent agent(std::move(options));
    CHECK(agent.ends_within(Milliseconds(10'000)));
}

TEST_CASE("a session directory of any length can be reached") {
    const TempDir base;
    const std::string deep = base.path() + "/" + std::string(200, 'd');
    make_directories(deep, 0700);
    HelloListener listener(deep);
    CHECK_NOTHROW(socket_link(deep).dial());
}

TEST_CASE("law 9: TTL ends the session with nobody there, and says so to a running exec") {
    LiveAgent agent(with_deadlines(2500, 0));
    const Captured captured = agent.run({"sh", "-c", "echo out; sleep 60"});
    CHECK(captured.result.outcome == Outcome::expired);
    CHECK(captured.out == "out\n");
    CHECK(agent.ends_within(Milliseconds(10'000)));
}

TEST_CASE("TTL kills what ignores TERM, after the grace") {
    LiveAgent agent(with_deadlines(2500, 0));
    CHECK(agent.run({"sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"}).result.outcome == Outcome::expired);
    CHECK(agent.ends_within(Milliseconds(10'000)));
}

TEST_CASE("G1: idle waits for a quiet exec, counts from its end, and looking does not renew it") {
    LiveAgent agent(with_deadlines(0, 2000));
    const std::int64_t began = boot_now_ms();
    CHECK(agent.run({"sh", "-c", "sleep 2.5; echo done"}).out == "done\n");
    const std::int64_t ended = boot_now_ms();
    const std::vector<std::string> directories{agent.session_directory()};
    std::int64_t last_left = 10'000;
    CHECK(eventually([&] { return status(agent.link()).operations == 0; }));
    while (const auto answer = status_many(directories, Milliseconds(200)).front()) {
        CHECK(answer->idle_left_ms <= last_left);
        last_left = answer->idle_left_ms;
        ::usleep(50'000);
        if (boot_now_ms() - ended > 20'000) break;
    }
    CHECK(agent.ends_within(Milliseconds(10'000)));
    // It began to count when the command had ended, which this process may have heard of later.
    CHECK(boot_now_ms() - began >= 4500);
}

TEST_CASE("G2: deadlines can be moved while the session lives") {
    LiveAgent agent(with_deadlines(2500, 0));
    const std::int64_t later = boot_now_ms() + 60'000;
    set_deadlines(agent.link(), later, 30'000);
    ::usleep(2'700'000);
    const Status now = status(agent.link());
    CHECK(now.ttl_boot_ms == later);
    CHECK(now.idle_timeout_ms == 30'000);
    CHECK(now.idle_left_ms > 10'000);
    set_deadlines(agent.link(), boot_now_ms() + 100, std::nullopt);
    CHECK(agent.ends_within(Milliseconds(10'000)));
}

TEST_CASE("a deadline that fell due in a frozen session leaves time to move it") {
    for (const bool is_idle : {false, true}) {
        for (const bool is_moved : {false, true}) {
            CAPTURE(is_idle);
            CAPTURE(is_moved);
            LiveAgent::Options options = with_deadlines(is_idle ? 0 : 2000, is_idle ? 2000 : 0);
            options.thaw_ms = 5000;
            LiveAgent agent(options);
            ::kill(agent.pid(), SIGSTOP);
            ::usleep(3'500'000);
            ::kill(agent.pid(), SIGCONT);
            if (is_moved) set_deadlines(agent.link(), boot_now_ms() + 60'000, 60'000);
            CHECK_FALSE(agent.ends_within(Milliseconds(1500)));
            CHECK(agent.ends_within(Milliseconds(is_moved ? 2000 : 10'000)) != is_moved);
        }
    }
}

TEST_CASE("a deadline that is told too late is due at once") {
    LiveAgent agent(with_deadlines(0, 0));
    set_deadlines(agent.link(), boot_now_ms() - 60'000, std::nullopt);
    CHECK(agent.ends_within(Milliseconds(8000))); // sooner than what was frozen would
}

TEST_CASE("TERM from outside ends the session in order; from inside it is not heard") {
    LiveAgent agent;
    CHECK(agent.shell("kill -TERM 1; kill -INT 1; kill -KILL 1; sleep 0.1; echo alive") == "alive");
    CHECK(agent.run({"true"}).result.exit_status == 0);
    ::kill(agent.pid(), SIGTERM);
    CHECK(agent.ends_within(Milliseconds(10'000)));
}

TEST_CASE("a held session does not idle, and whoever holds it hears how it ends") {
    LiveAgent::Options options;
    SUBCASE("its TTL") {
        options.setup.idle_timeout_ms = 1500;
        options.setup.ttl_boot_ms = boot_now_ms() + 5000;
        LiveAgent agent(std::move(options));
        Hold hold(agent.link());
        CHECK_FALSE(agent.ends_within(Milliseconds(2000)));
        CHECK(hold.ends() == HoldEnd::expired);
    }
    SUBCASE("a kill") {
        LiveAgent agent(std::move(options));
        Hold hold(agent.link());
        ::kill(agent.pid(), SIGKILL);
        CHECK(hold.ends() == HoldEnd::cut);
    }
    SUBCASE("and it idles when nobody holds it any more") {
        options.setup.idle_timeout_ms = 1500;
        LiveAgent agent(std::move(options));
        { Hold hold(agent.link()); }
        CHECK(agent.ends_within(Milliseconds(15'000)));
    }
}

TEST_CASE("a session that ends with its creator lives as long as that connection, idle or not, and no longer") {
    LiveAgent::Options options;
    options.setup.ends_with_creator = true;
    options.setup.idle_timeout_ms = 1500;
    SUBCASE("over its socket") {
        LiveAgent agent(std::move(options));
        CHECK_FALSE(agent.ends_within(Milliseconds(2000)));
        CHECK(agent.shell("sleep 61 & echo alive") == "alive");
        agent.let_go();
        CHECK(agent.ends_within(Milliseconds(15'000)));
    }
    SUBCASE("unless its creator lets it live on: then it idles as any other") {
        LiveAgent agent(std::move(options));
        agent.keep();
        CHECK(agent.shell("echo alive") == "alive");
        CHECK(agent.ends_within(Milliseconds(15'000)));
    }
    SUBCASE("over a bridge") {
        SessionSetup setup = options.setup;
        options.handshake = false;
        LiveAgent agent(std::move(options));
        setup.workdir = agent.workdir();
        setup.secret = std::string(32, 's');
        Hello hello = bridge_handshake(bridge_stream(agent.bridge_name()), setup);
        CHECK_FALSE(agent.ends_within(Milliseconds(2000)));
        hello.creator.reset();
        CHECK(agent.ends_within(Milliseconds(15'000)));
    }
}

TEST_CASE("the bridge: first come sets up, later ones must prove themselves, and exec works as over the socket") {
    LiveAgent::Options options;
    options.handshake = false;
    LiveAgent agent(std::move(options));
    SessionSetup setup;
    setup.workdir = agent.workdir();
    setup.secret = std::string(32, 's');
    setup.env = {{"X", "y"}};
    CHECK(bridge_handshake(bridge_stream(agent.bridge_name()), setup).workspace_writable);
    CHECK_THROWS_AS(bridge_handshake(bridge_stream(agent.bridge_name()), setup), Error);
    const auto link_with = [&](const std::string& secret) { return Link{[&] { return bridge_stream(agent.bridge_name()); }, secret}; };
    ExecIo io;
    std::string out;
    io.on_output = [&out](OutputStream, std::string_view bytes) { out += bytes; };
    ExecRequest request;
    request.argv = {"sh", "-c", "echo $X; head -c 3000000 /dev/zero | tr '\\0' z; exit 7"};
    CHECK(exec(link_with(setup.secret), request, io).exit_status == 7);
    CHECK(out.size() == 3'000'002);
    CHECK(status(link_with(setup.secret)).uid == 0);
    set_deadlines(link_with(setup.secret), boot_now_ms() + 60'000, std::nullopt);
    try {
        exec(link_with(std::string(32, 'x')), request, io);
        FAIL("a wrong secret was taken");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::denied);
    }
    CHECK_THROWS_AS(set_deadlines(link_with("wrong"), 1, std::nullopt), Error);
}

TEST_CASE("many sessions are asked within one deadline, silent ones included") {
    const LiveAgent one;
    const LiveAgent frozen;
    ::kill(frozen.pid(), SIGSTOP);
    const TempDir none;
    const std::vector<std::string> directories{one.session_directory(), frozen.session_directory(), none.path(), "/nonexistent"};
    const std::int64_t start = boot_now_ms();
    const auto answers = status_many(directories, Milliseconds(300));
    CHECK(boot_now_ms() - start < 5000); // a silent one by itself would be given longer
    CHECK(answers[0]);
    CHECK_FALSE(answers[1]);
    CHECK_FALSE(answers[2]);
    CHECK_FALSE(answers[3]);
}

TEST_CASE("a frozen session is soon found unreachable, sooner when the command's time is short, and runs nothing later") {
    const LiveAgent agent;
    ::kill(agent.pid(), SIGSTOP);
    const auto time_to_fail = [](const auto& call) {
        const std::int64_t start = boot_now_ms();
        try {
            call();
            FAIL("nobody answers");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::session_unreachable);
        }
        return boot_now_ms() - start;
    };
    ExecRequest request;
    request.argv = {"touch", "late"};
    const auto exec_within = [&](int timeout_ms) {
        request.timeout = Milliseconds(timeout_ms);
        return time_to_fail([&] { agent.run(request); });
    };
    // A busy machine makes it later; one that can't be found unreachable would take half a minute.
    const auto is_about = [](std::int64_t time, std::int64_t expected) { return time >= expected && time < expected + 10'000; };
    CHECK(is_about(exec_within(0), 2000));
    CHECK(is_about(exec_within(60'000), 2000));
    CHECK(is_about(exec_within(1500), 1500));
    CHECK(is_about(exec_within(10), 1000));
    CHECK(is_about(time_to_fail([&] { put_entries(agent.link(), {}); }), 2000));
    ::kill(agent.pid(), SIGCONT);
    CHECK(agent.shell("sleep 0.1; ls") == "");
}

TEST_CASE("execs run side by side") {
    const LiveAgent agent;
    std::vector<std::future<std::string>> runs;
    for (int i = 0; i < 20; ++i) runs.push_back(std::async(std::launch::async, [&agent] { return agent.shell("sleep 0.2; echo x"); }));
    for (auto& run : runs) CHECK(run.get() == "x");
}

TEST_CASE("a session that ends under a running exec is unreachable, never a success") {
    LiveAgent agent;
    auto running = std::async(std::launch::async, [&agent] { return agent.run({"sh", "-c", "touch running; sleep 60"}); });
    CHECK(eventually([&] { return ::access((agent.workdir() + "/running").c_str(), F_OK) == 0; }));
    ::kill(agent.pid(), SIGKILL);
    try {
        running.get();
        FAIL("no result must come");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::session_unreachable);
    }
}
