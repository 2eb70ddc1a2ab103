// SPDX-License-Identifier: Apache-2.0
#include "util/process.hpp"

#include "util/error.hpp"
#include "util/fs.hpp"

#include <chrono>
#include <csignal>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace sandbox;
using namespace std::chrono_literals;

namespace {

Error failure_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error;
    }
    return Error(ErrorCode::internal, "did not fail");
}

SpawnOptions sh(const std::string& script) {
    SpawnOptions options;
    options.argv = {"sh", "-c", script};
    options.in = Stdio::null();
    return options;
}

// A process that nobody waits for any more takes a moment to leave.
bool is_soon_gone(pid_t pid) {
    for (int i = 0; i < 200; ++i) {
        if (::kill(pid, 0) != 0) return true;
        const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
        if (!stat || stat->find(") Z ") != std::string::npos) return true;
        std::this_thread::sleep_for(10ms);
    }
    return false;
}

void write_script(const std::string& path, const std::string& text, mode_t mode) {
    AtomicFile file(AT_FDCWD, path, mode);
    write_all(file.fd(), text);
    file.publish();
}

} // namespace

TEST_CASE("process: statuses and signals are told apart") {
    CHECK(Child(sh("exit 0")).wait().success());
    const ExitStatus seven = Child(sh("exit 7")).wait();
    CHECK(seven.code == 7);
    CHECK(seven.signal == 0);
    const ExitStatus killed = Child(sh("kill -9 $$")).wait();
    CHECK(killed.signal == SIGKILL);
    CHECK(killed.shell_status() == 137);
    CHECK_FALSE(killed.success());
    CHECK(Child(sh("exit 137")).wait().signal == 0);
}

TEST_CASE("process: a program that cannot be run says why") {
    TempDir directory;
    const std::string plain = directory.path() + "/plain";
    write_script(plain, "not a program", 0644);
    const std::string garbage = directory.path() + "/garbage";
    write_script(garbage, "exit 0\n", 0755); // no #!: execvp(3) would give it to a shell

    CHECK(failure_of([] { Child({.argv = {"no-such-program-here"}}); }).code() == ErrorCode::command_not_found);
    CHECK(failure_of([] { Child({.argv = {""}}); }).code() == ErrorCode::command_not_found);
    CHECK(failure_of([] { Child({.argv = {"/no/such/program"}}); }).code() == ErrorCode::command_not_found);
    CHECK(failure_of([&] { Child({.argv = {plain}}); }).code() == ErrorCode::not_executable);
    CHECK(failure_of([&] { Child({.argv = {directory.path()}}); }).code() == ErrorCode::not_executable);
    const Error format = failure_of([&] { Child({.argv = {garbage}}); });
    CHECK(format.code() == ErrorCode::not_executable);
    CHECK(format.message().find("Exec format error") != std::string::npos);
    CHECK(failure_of([] { Child({.argv = {"true"}, .cwd = "/no/such/directory"}); }).code() == ErrorCode::not_found);
    CHECK(failure_of([] { Child({.argv = {"true"}, .out = Stdio::descriptor(9999)}); }).code() == ErrorCode::io_error);
    CHECK(failure_of([] { Child(SpawnOptions{}); }).code() == ErrorCode::internal);
}

TEST_CASE("process: arguments reach the program as they are") {
    const Captured captured = run_capture({"printf", "[%s]", "", "a b", "$HOME", "*", "a\nb"}, "");
    CHECK(captured.out == "[][a b][$HOME][*][a\nb]");
}

TEST_CASE("process: environment, directory, streams") {
    SpawnOptions options = sh("echo \"$A-$B\"; pwd; echo oops >&2; cat");
    options.env = std::vector<std::string>{"A=1 2", "PATH=/usr/bin:/bin"};
    options.cwd = "/usr";
    options.in = Stdio::pipe();
    options.out = Stdio::pipe();
    options.err = Stdio::pipe();
    Child child(options);
    write_all(child.in().get(), "from stdin");
    child.in().reset();
    CHECK(read_all(child.out().get(), 1000) == "1 2-\n/usr\nfrom stdin");
    CHECK(read_all(child.err().get(), 1000) == "oops\n");
    CHECK(child.wait().success());
}

TEST_CASE("process: streams may come from low descriptors in any order") {
    // stdout from 2 and stderr from 1: a plain dup2 in order would lose one of them.
    TempDir directory;
    const Fd file(::open((directory.path() + "/f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const Pipe pipe = make_pipe();
    SpawnOptions options = sh("echo out; echo err >&2");
    const int saved_out = ::dup(1);
    const int saved_err = ::dup(2);
    ::dup2(pipe.write.get(), 1);
    ::dup2(file.get(), 2);
    options.out = Stdio::descriptor(2);
    options.err = Stdio::descriptor(1);
    const ExitStatus status = Child(options).wait();
    ::dup2(saved_out, 1);
    ::dup2(saved_err, 2);
    ::close(saved_out);
    ::close(saved_err);
    CHECK(status.success());
    CHECK(read_file(directory.path() + "/f") == "out\n");
    char buffer[16];
    CHECK(std::string(buffer, read_some(pipe.read.get(), buffer)) == "err\n");
}

TEST_CASE("process: no descriptor of ours leaks into the child") {
    // What a caller's caller left open on purpose (a make job server) goes through; what we open does not.
    const auto open_in_child = [] { return run_capture({"sh", "-c", "exec ls /proc/$$/fd"}, "").out; };
    const std::string before = open_in_child();
    const Pipe ours = make_pipe();
    Child running(sh("sleep 60"));
    CHECK(open_in_child() == before);
}

TEST_CASE("process: signals are at their defaults in the child") {
    ::signal(SIGPIPE, SIG_IGN);
    const Captured captured = run_capture({"sh", "-c", "yes | head -n 1; grep -E 'Sig(Blk|Ign)' /proc/self/status"}, "", {.timeout = 10s});
    ::signal(SIGPIPE, SIG_DFL);
    CHECK(captured.status.success());
    CHECK(captured.out.find("y\n") == 0);
    CHECK(captured.out.find("SigBlk:\t0000000000000000") != std::string::npos);
    CHECK(captured.out.find("SigIgn:\t0000000000000000") != std::string::npos);
}

TEST_CASE("process: waiting has a deadline") {
    Child child(sh("sleep 30"));
    const auto start = std::chrono::steady_clock::now();
    CHECK_FALSE(child.wait_for(50ms));
    CHECK_FALSE(child.wait_for(0ms));
    CHECK(std::chrono::steady_clock::now() - start < 5s);
    child.kill(SIGTERM);
    const auto status = child.wait_for(5s);
    REQUIRE(status);
    CHECK(status->signal == SIGTERM);
    CHECK(child.wait_for(0ms)->signal == SIGTERM); // stays known
    CHECK(child.wait().signal == SIGTERM);
    child.kill(SIGKILL); // and reaches nobody
}

TEST_CASE("process: the destructor ends the whole group") {
    SpawnOptions options = sh("sleep 60 & echo $!; wait");
    options.out = Stdio::pipe();
    pid_t leader = 0;
    pid_t grandchild = 0;
    {
        Child child(options);
        leader = child.pid();
        char buffer[32];
        grandchild = std::stoi(std::string(buffer, read_some(child.out().get(), buffer)));
        REQUIRE(::kill(grandchild, 0) == 0);
    }
    CHECK(is_soon_gone(leader));
    CHECK(is_soon_gone(grandchild));
}

TEST_CASE("process: a moved-from child owns nothing") {
    Child first(sh("exit 3"));
    Child second(std::move(first));
    CHECK(second.wait().code == 3);
}

TEST_CASE("process: groups") {
    SpawnOptions options = sh("exec ps -o pgid= -p $$");
    options.out = Stdio::pipe();
    Child own(options);
    CHECK(std::stoi(read_all(own.out().get(), 100)) == own.pid());
    options.group = ProcessGroup::shared;
    Child shared(options);
    CHECK(std::stoi(read_all(shared.out().get(), 100)) == ::getpgrp());
}

TEST_CASE("capture: input and output larger than any pipe, both at once") {
    const std::string input(5'000'000, 'x');
    const Captured captured = run_capture({"cat"}, input, {.timeout = 30s, .max_output = 10'000'000});
    CHECK(captured.status.success());
    CHECK(captured.out == input);
    CHECK_FALSE(captured.truncated);
    CHECK_FALSE(captured.timed_out);
}

TEST_CASE("capture: both streams, kept apart") {
    const Captured captured = run_capture({"sh", "-c", "echo out; echo err >&2; exit 4"}, "");
    CHECK(captured.out == "out\n");
    CHECK(captured.err == "err\n");
    CHECK(captured.status.code == 4);
}

TEST_CASE("capture: a reader that stops early is no error") {
    const Captured captured = run_capture({"head", "-c", "1"}, std::string(5'000'000, 'x'), {.timeout = 10s});
    CHECK(captured.status.success());
    CHECK(captured.out == "x");
}

TEST_CASE("capture: output is bounded and the command still ends well") {
    const Captured captured = run_capture({"sh", "-c", "head -c 3000000 /dev/zero; echo done >&2"}, "", {.timeout = 10s, .max_output = 1000});
    CHECK(captured.out.size() == 1000);
    CHECK(captured.truncated);
    CHECK(captured.err == "done\n");
    CHECK(captured.status.success());
    CHECK_FALSE(run_capture({"head", "-c", "1000", "/dev/zero"}, "", {.max_output = 1000}).truncated);
}

TEST_CASE("capture: a time-out ends the command and what it started") {
    const auto start = std::chrono::steady_clock::now();
    const Captured captured = run_capture({"sh", "-c", "trap '' TERM; sleep 61 & echo $!; sleep 62"}, "", {.timeout = 300ms});
    CHECK(std::chrono::steady_clock::now() - start < 10s);
    CHECK(captured.timed_out);
    CHECK_FALSE(captured.status.success());
    CHECK(is_soon_gone(std::stoi(captured.out)));
}

TEST_CASE("capture: an endless flood meets its time-out") {
    const Captured captured = run_capture({"yes"}, "", {.timeout = 300ms, .max_output = 100});
    CHECK(captured.timed_out);
    CHECK(captured.out.size() == 100);
}

TEST_CASE("capture: a child that keeps the pipe open delays nothing") {
    const auto start = std::chrono::steady_clock::now();
    const Captured captured = run_capture({"sh", "-c", "sleep 60 & echo hi"}, "");
    CHECK(std::chrono::steady_clock::now() - start < 10s);
    CHECK(captured.out == "hi\n");
    CHECK(captured.status.success());
}

TEST_CASE("capture: the last bytes are never lost") {
    for (int i = 0; i < 200; ++i) REQUIRE(run_capture({"echo", "x"}, "").out == "x\n");
}
