// SPDX-License-Identifier: Apache-2.0
#include "live_agent.hpp"

#include "util/error.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::channel;
using namespace sandbox::channel::test;

namespace {

ExecRequest shell_request(const std::string& script) {
    ExecRequest request;
    request.argv = {"sh", "-c", script};
    return request;
}

ExecRequest timed(const std::string& script, int timeout_ms, int grace_ms = 300) {
    ExecRequest request = shell_request(script);
    request.timeout = Milliseconds(timeout_ms);
    request.grace = Milliseconds(grace_ms);
    return request;
}

Fd input_of(std::string_view bytes) {
    Pipe pipe = make_pipe();
    write_all(pipe.write.get(), bytes);
    return std::move(pipe.read);
}

// Whether the first thread, which runs the exec, takes this signal itself by now. One that is ignored never comes.
bool is_held_back(int number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return true;
    const std::string path = "/proc/self/task/" + std::to_string(::getpid()) + "/status";
    const std::string status = read_file(path).value_or("");
    const auto at = status.find("SigBlk:\t");
    return at != std::string::npos && (std::strtoull(status.c_str() + at + 8, nullptr, 16) >> (number - 1) & 1) != 0;
}

std::int64_t elapsed_ms(std::int64_t since) { return boot_now_ms() - since; }

} // namespace

TEST_CASE("the exact status and both streams come back") {
    const LiveAgent agent;
    const Captured captured = agent.run({"sh", "-c", "echo out; echo err >&2; exit 255"});
    CHECK(captured.result.outcome == Outcome::exited);
    CHECK(captured.result.exit_status == 255);
    CHECK(captured.out == "out\n");
    CHECK(captured.err == "err\n");
    CHECK(captured.result.stdout_bytes == 4);
    CHECK(captured.result.peak_rss_kib > 0);
    CHECK(agent.run({"true"}).result.exit_status == 0);
}

TEST_CASE("a signal that the command took is told from a status") {
    const LiveAgent agent;
    const Captured captured = agent.run({"sh", "-c", "kill -9 $$"});
    CHECK(captured.result.outcome == Outcome::signaled);
    CHECK(captured.result.signal == SIGKILL);
}

TEST_CASE("a command that cannot start says why") {
    const LiveAgent agent;
    const auto start_errno = [&agent](const std::string& name) {
        const ExecResult result = agent.run({name}).result;
        CHECK(result.outcome == Outcome::start_failed);
        CHECK(result.message == "exec");
        return result.start_errno;
    };
    CHECK(start_errno("nosuch-program") == ENOENT);
    CHECK(start_errno("/etc") == EACCES);
    CHECK(start_errno("") == ENOENT);
    agent.shell("printf x >noformat; chmod 755 noformat; printf '#!/bin/sh' >noexec");
    CHECK(start_errno("./noformat") == ENOEXEC);
    CHECK(start_errno("./noexec") == EACCES);
    ExecRequest request = shell_request("true");
    request.cwd = "/nosuch";
    const ExecResult result = agent.run(request).result;
    CHECK(result.start_errno == ENOENT);
    CHECK(result.message == "chdir");
}

TEST_CASE("a process table with room for the supervisor alone is a failed start, told at once") {
    LiveAgent::Options options;
    // PID 1 and one more: a user of its own, this run's alone, whose processes count against nobody else's limit, and which RLIMIT_NPROC binds.
    const std::string user = "--reuid=" + std::to_string(61'234 + ::getpid());
    options.prefix = {"prlimit", "--nproc=2:2", "setpriv", user, "--clear-groups", "--inh-caps=+dac_override",
                      "--ambient-caps=+dac_override"};
    const LiveAgent agent(std::move(options));
    for (const bool has_terminal : {false, true}) {
        // Without input: its frames would wake the supervisor. The time-out is for a supervisor that sleeps on.
        ExecRequest request = timed("true", 20'000);
        if (has_terminal) request.tty = WindowSize{};
        const std::int64_t start = boot_now_ms();
        const ExecResult result = agent.run(request).result;
        CHECK(result.outcome == Outcome::start_failed);
        CHECK(result.start_errno == EAGAIN);
        CHECK(result.message == "fork");
        CHECK(elapsed_ms(start) < 15'000);
        // The slot is free again once the worker is gone.
        CHECK(eventually([&] { return status(agent.link()).operations == 0; }));
    }
}

TEST_CASE("arguments arrive whole, or are refused as too big") {
    const LiveAgent agent;
    CHECK(agent.run({"printf", "%s|", "", "a b", "--", "\xff\n"}).out == "|a b|--|\xff\n|");
    ExecRequest request;
    request.argv = {"sh", "-c", "echo $#", "sh"};
    for (int i = 0; i < 15; ++i) request.argv.emplace_back(100'000, 'x');
    CHECK(agent.run(request).out == "15\n");
    for (int i = 0; i < 100; ++i) request.argv.emplace_back(100'000, 'x');
    CHECK(agent.run(request).result.start_errno == E2BIG);
    request.argv = {"true", std::string(2 << 20, 'x')};
    CHECK(agent.run(request).result.start_errno == E2BIG);
}

TEST_CASE("environment and directory: image, session, exec; the last wins") {
    LiveAgent::Options options;
    options.setup.env = {{"FROM_SESSION", "s"}, {"BOTH", "session"}};
    const LiveAgent agent(std::move(options));
    ExecRequest request = shell_request("echo $FROM_SESSION $BOTH; pwd; echo ${PATH:+path}");
    request.env = {{"BOTH", "exec"}};
    CHECK(agent.run(request).out == "s exec\n" + agent.workdir() + "\npath\n");
    agent.shell("mkdir sub");
    request = shell_request("pwd");
    request.cwd = "sub";
    CHECK(agent.run(request).out == agent.workdir() + "/sub\n");
    request.argv = {"env"};
    request.env = {{"PATH", "/nowhere"}};
    CHECK(agent.run(request).result.start_errno == ENOENT);
}

TEST_CASE("children start with default signals, nothing blocked, no descriptor but three, and go before the agent for memory") {
    const LiveAgent agent;
    CHECK(agent.shell("grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2 | sort -u") == "0000000000000000");
    CHECK(agent.shell("ls /proc/self/fd | wc -l") == "4"); // ls opens the directory itself
    CHECK(agent.shell("cat /proc/self/oom_score_adj") == "500");
    CHECK(agent.shell("yes | head -1") == "y");
    CHECK(agent.shell("cat; echo end") == "end");
}

TEST_CASE("the keys to detach leave a command to itself, and only they do") {
    const LiveAgent agent;
    ExecRequest request = shell_request("cat >seen; echo ended >>seen");
    request.stdin_open = true;
    ExecIo io;
    io.take_signals = false;
    io.detach_keys = "\x10\x11";
    Pipe pipe = make_pipe();
    io.stdin_fd = pipe.read.get();
    SUBCASE("all of them in a row: the first ones have been passed on, and nothing after them") {
        write_all(pipe.write.get(), "a\x10z\x11" "b\x10\x11" "c");
        CHECK(exec(agent.link(), request, io).outcome == Outcome::detached);
        CHECK(agent.shell("while ! grep -q ended seen; do sleep 0.01; done; od -An -c seen | tr -d ' '") == "a020z021b020ended\\n");
    }
    SUBCASE("others") {
        write_all(pipe.write.get(), "\x11\x10");
        pipe.write.reset();
        CHECK(exec(agent.link(), request, io).outcome == Outcome::exited);
    }
}

TEST_CASE("B1: exec ends with its leader while a background child holds the pipe and lives on") {
    const LiveAgent agent;
    const std::int64_t start = boot_now_ms();
    CHECK(agent.shell("sleep 61.5 & echo hi") == "hi");
    CHECK(elapsed_ms(start) < 30'000);
    CHECK(agent.count_processes("sleep 61.5") == 1);
    // Its pipe stays open and is drained: a child that prints a lot is neither killed nor blocked.
    CHECK(agent.shell("(sleep 0.1; head -c 3000000 /dev/zero; touch done) & echo hi") == "hi");
    CHECK(eventually([&] { return agent.shell("test -e done && echo yes") == "yes"; }));
    // Looking does not count them as operations.
    CHECK(eventually([&] { return status(agent.link()).operations == 0; }));
}

TEST_CASE("B2: standard input has an end") {
    const LiveAgent agent;
    const auto with_input = [&agent](const std::string& script, std::string_view bytes) {
        ExecRequest request = shell_request(script);
        request.stdin_open = true;
        const Fd input = input_of(bytes);
        return agent.run(request, input.get()).out;
    };
    CHECK(with_input("wc -c", "abc") == "3\n");
    CHECK(with_input("cat", "") == "");
    CHECK(with_input("cat >/dev/null; echo after", "x\n") == "after\n");
}

TEST_CASE("law 8: an input that cannot be read is no end of file: the command ends and the reason comes back") {
    const LiveAgent agent;
    const auto failure = [&agent](int input) -> std::string {
        ExecRequest request = shell_request("cat; touch complete; sleep 62.5");
        request.stdin_open = true;
        const std::int64_t start = boot_now_ms();
        try {
            agent.run(request, input);
        } catch (const Error& error) {
            CHECK(elapsed_ms(start) < 30'000);
            CHECK(agent.count_processes("sleep 62.5") == 0);
            CHECK(agent.shell("ls") == "");
            return error.message();
        }
        return "none";
    };
    const Fd directory(::open("/tmp", O_RDONLY | O_CLOEXEC));
    CHECK(failure(directory.get()) == "cannot read standard input: Is a directory");
    // Nothing is mapped at its start, which is EIO.
    const Fd memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
    CHECK(failure(memory.get()) == "cannot read standard input: Input/output error");
}

TEST_CASE("a closed input and a terminal that is gone are at their end") {
    const LiveAgent agent;
    ExecRequest request = shell_request("cat; echo end");
    request.stdin_open = true;
    CHECK(agent.run(request, 1'000'000).out == "end\n");
    Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    REQUIRE(::unlockpt(master.get()) == 0);
    const Fd terminal(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    master.reset();
    CHECK(agent.run(request, terminal.get()).out == "end\n");
    const Fd lonely(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    REQUIRE(::unlockpt(lonely.get()) == 0);
    // A master whose terminal side was closed again says EIO while it is still a terminal itself.
    Fd(::ioctl(lonely.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)).reset();
    CHECK(agent.run(request, lonely.get()).out == "end\n");
}

TEST_CASE("B4: much input, and a reader that stops early") {
    const LiveAgent agent;
    const auto feed = [&agent](const std::string& script) {
        ExecRequest request = shell_request(script);
        request.stdin_open = true;
        Pipe pipe = make_pipe();
        std::thread writer([&pipe] {
            const std::string piece(1 << 20, 'y');
            try {
                for (int i = 0; i < 50; ++i) write_all(pipe.write.get(), piece);
            } catch (const Error&) {
            }
            pipe.write.reset();
        });
        const Captured captured = agent.run(request, pipe.read.get());
        pipe.read.reset();
        writer.join();
        return captured;
    };
    ::signal(SIGPIPE, SIG_IGN);
    CHECK(feed("wc -c").out == "52428800\n");
    CHECK(feed("cat | wc -c; true").out == "52428800\n");
    const Captured early = feed("head -c1");
    CHECK(early.out == "y");
    CHECK(early.result.exit_status == 0);
    // A command that closes its input and goes on gets the rest dropped, and its caller is not blocked.
    CHECK(feed("exec <&-; sleep 0.2; echo on").out == "on\n");
    // A command that never reads does not keep time-outs from working.
    ExecRequest request = timed("sleep 63.5", 300);
    request.stdin_open = true;
    const Fd zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
    CHECK(agent.run(request, zeros.get()).result.outcome == Outcome::timed_out);
    ::signal(SIGPIPE, SIG_DFL);
}

TEST_CASE("B5: no byte is lost, however short the command or slow the reader") {
    const LiveAgent agent;
    int lost = 0;
    for (int i = 0; i < 300; ++i) lost += agent.shell("echo x") == "x" ? 0 : 1;
    CHECK(lost == 0);
    std::uint64_t bytes = 0;
    ExecIo io;
    io.on_output = [&bytes](OutputStream, std::string_view piece) {
        if (bytes == 0) std::this_thread::sleep_for(Milliseconds(500));
        bytes += piece.size();
    };
    ExecRequest request = shell_request("head -c 50000000 /dev/zero");
    CHECK(exec(agent.link(), request, io).stdout_bytes == 50'000'000);
    CHECK(bytes == 50'000'000);
}

TEST_CASE("A1, A6: a time-out ends the work, keeps the output, and is told from a failure") {
    const LiveAgent agent;
    const std::int64_t start = boot_now_ms();
    const Captured captured = agent.run(timed("echo before; sleep 30.5; touch late", 1500));
    CHECK(captured.result.outcome == Outcome::timed_out);
    CHECK(captured.result.signal == SIGTERM);
    CHECK(captured.out == "before\n");
    CHECK(elapsed_ms(start) >= 1500);
    CHECK(elapsed_ms(start) < 25'000);
    CHECK(agent.eventually_none("sleep 30.5"));
}

TEST_CASE("A2: escapees die with the tree: own session, double fork, TERM ignored, fork bombs, nested subreapers") {
    const LiveAgent agent;
    CHECK(agent.run(timed("setsid sleep 71.1 & (setsid sh -c 'sleep 71.2 & sleep 71.3' &) ; sleep 71.4", 200)).result.outcome ==
          Outcome::timed_out);
    CHECK(agent.count_processes("sleep 71") == 0);
    const std::int64_t start = boot_now_ms();
    CHECK(agent.run(timed("trap '' TERM; sleep 72.1 & while :; do sleep 0.05; done", 1500)).result.signal == SIGKILL);
    CHECK(elapsed_ms(start) >= 1800);
    CHECK(agent.count_processes("sleep 72") == 0);
    agent.run(timed("f() { trap '' TERM; setsid sh -c 'while :; do (sleep 73.1 &); sleep 0.01; done' & }; f; f; f; sleep 73.2", 300));
    CHECK(agent.count_processes("sleep 73") == 0);
    CHECK(agent.run({"python3", "-c", "print()"}).result.exit_status == 0);
    agent.run(timed("python3 -c 'import ctypes,os,time\nctypes.CDLL(None).prctl(36,1)\nif os.fork()==0:\n os.setsid()\n"
                    "if os.fork()==0:\n  os.execlp(\"sleep\",\"sleep\",\"74.1\")\ntime.sleep(74)'", 400));
    CHECK(agent.count_processes("sleep 74") == 0);
    // Stopped processes end, too.
    agent.run(timed("sleep 75.1 & kill -STOP $!; sleep 75.2", 200));
    CHECK(agent.count_processes("sleep 75") == 0);
}

TEST_CASE("law 7: a killed supervisor is an aborted exec whose tree is gone") {
    const LiveAgent agent;
    const Captured captured = agent.run({"sh", "-c", "setsid sleep 81.1 & sleep 81.2 & kill -9 $PPID; sleep 81.3"});
    CHECK(captured.result.outcome == Outcome::aborted);
    CHECK(captured.result.exit_status == -1);
    CHECK(agent.count_processes("sleep 81") == 0);
    // The count itself ran an exec, whose worker tells PID 1 that it is done a moment after its result.
    CHECK(eventually([&] { return status(agent.link()).operations == 0; }));
}

TEST_CASE("a stopped supervisor goes on") {
    const LiveAgent agent;
    CHECK(agent.shell("kill -STOP $PPID; echo here") == "here");
}

TEST_CASE("law 7: a lost client ends the tree") {
    const LiveAgent agent;
    const pid_t child = ::fork();
    if (child == 0) {
        ExecIo io;
        io.take_signals = false;
        ExecRequest request = shell_request("setsid sleep 82.1 & sleep 82.2");
        exec(agent.link(), request, io);
        ::_exit(0);
    }
    CHECK(eventually([&] { return agent.count_processes("sleep 82") >= 2; }));
    ::kill(child, SIGKILL);
    CHECK(agent.eventually_none("sleep 82"));
}

TEST_CASE("A3: signals to the caller end the tree; the second at once; USR1 goes to the command") {
    const LiveAgent agent;
    const auto interrupted_by = [&agent](const std::string& script, std::vector<int> numbers) {
        ExecRequest request = shell_request(script);
        request.grace = Milliseconds(5000);
        std::thread sender([&agent, numbers] {
            // To the process, as a terminal or kill(1) sends it; not to be taken by this thread.
            sigset_t all;
            sigfillset(&all);
            ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
            for (const int number : numbers) {
                eventually([&] { return ::unlink((agent.workdir() + "/running").c_str()) == 0; });
                eventually([&] { return is_held_back(number); });
                ::kill(::getpid(), number);
            }
        });
        int taken = 0;
        try {
            agent.run(request);
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::interrupted);
            taken = error.signal();
        }
        sender.join();
        return taken;
    };
    CHECK(interrupted_by("touch running; sleep 83.1", {SIGINT}) == SIGINT);
    CHECK(interrupted_by("touch running; sleep 83.2", {SIGTERM}) == SIGTERM);
    CHECK(interrupted_by("touch running; sleep 83.3", {SIGHUP}) == SIGHUP);
    // What would end the client on the spot, and leave a terminal raw, is TERM to the command.
    for (const int number : {SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGIO, SIGPWR, SIGSTKFLT}) {
        CHECK(interrupted_by("trap 'touch got-term; exit' TERM; touch running; while :; do sleep 0.05; done", {number}) == number);
        CHECK(::unlink((agent.workdir() + "/got-term").c_str()) == 0);
    }
    ::signal(SIGALRM, SIG_IGN);
    CHECK(interrupted_by("touch running; sleep 0.3", {SIGALRM}) == 0);
    ::signal(SIGALRM, SIG_DFL);
    const std::int64_t start = boot_now_ms();
    CHECK(interrupted_by("trap '' INT TERM; sleep 83.4 & while :; do sleep 0.05; touch running; done", {SIGINT, SIGINT}) == SIGINT);
    CHECK(elapsed_ms(start) < 30'000);
    CHECK(agent.count_processes("sleep 83") == 0);
    CHECK(interrupted_by("trap 'exit 0' USR1; touch running; while :; do sleep 0.05; done", {SIGUSR1}) == 0);
}

TEST_CASE("B14: when nobody wants the output, the tree ends and the reason comes back") {
    const LiveAgent agent;
    ExecIo io;
    io.on_output = [](OutputStream, std::string_view) { throw Error(ErrorCode::io_error, "broken pipe"); };
    CHECK_THROWS_AS(exec(agent.link(), shell_request("yes-loop() { yes; }; yes-loop & yes"), io), Error);
    CHECK(agent.count_processes("yes") == 0);
}

TEST_CASE("D2: no zombies pile up") {
    const LiveAgent agent;
    CHECK(agent.shell("for i in $(seq 100); do (sleep 0.01 &) ; done; "
                      "left=1; for i in $(seq 100); do [ $left = 0 ] && break; sleep 0.1; left=$(grep -l '^State:.Z' /proc/[0-9]*/status | wc -l); done; echo $left") == "0");
}

TEST_CASE("a terminal: size, resize, one stream, end of input, last bytes") {
    const LiveAgent agent;
    ExecRequest request = shell_request("stty size; echo $TERM; tty >/dev/null && echo tty; read x; echo \"got $x\"");
    request.tty = WindowSize{33, 99};
    request.term = "xterm";
    request.stdin_open = true;
    const Fd input = input_of("line\n");
    std::string out = agent.run(request, input.get()).out;
    // The terminal echoes the line when it comes, between any two of the command's own.
    const std::string echo = "line\r\n";
    REQUIRE(out.find(echo) != std::string::npos);
    out.erase(out.find(echo), echo.size());
    CHECK(out == "33 99\r\nxterm\r\ntty\r\ngot line\r\n");
    request.argv = {"cat"};
    const Fd end = input_of("");
    CHECK(agent.run(request, end.get()).result.exit_status == 0);
    request.argv = {"sh", "-c", "seq 5000"};
    request.stdin_open = false;
    const std::string numbers = agent.run(request).out;
    CHECK(numbers.ends_with("4999\r\n5000\r\n"));
    request.argv = {"sh", "-c", "trap '' HUP; sleep 84.1 & echo hi"};
    CHECK(agent.run(request).out == "hi\r\n");
}

TEST_CASE("the agent cannot be looked into, and its socket refuses those inside") {
    const LiveAgent agent;
    CHECK(agent.run({"sh", "-c", "python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.connect('" + agent.session_directory() +
                                     "/agent.sock'); print(len(s.recv(100)))\""}).out == "0\n");
    CHECK(agent.run({"true"}).result.exit_status == 0);
}
