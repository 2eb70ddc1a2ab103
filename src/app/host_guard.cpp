// SPDX-License-Identifier: Apache-2.0
#include "app/host_guard.hpp"

#include "util/error.hpp"
#include "util/pidfd.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace sandbox::app {
namespace {

constexpr int k_announced = 0;
constexpr int k_guarded = 1;

// The command, by pidfd. Negative where none was started.
int await_command() {
    pid_t command = 0;
    ssize_t count = 0;
    do count = ::read(k_announced, &command, sizeof command);
    while (count < 0 && errno == EINTR);
    return count == sizeof command ? static_cast<int>(::syscall(SYS_pidfd_open, command, 0)) : -1;
}

// Of a program that may have threads: nothing but system calls (signal-safety(7)).
[[noreturn]] void guard(int announced, int guarded, int grace_ms) {
    ::setsid(); // ctrl-c is for the command
    ::prctl(PR_SET_NAME, "sandbox-guard");
    if (::chdir("/") != 0) ::_exit(1); // what is mounted where the command runs is not to be kept busy
    // Both come from above the standard streams, which are always taken (cli/run.cpp). All else is given up: an open stream would keep its reader waiting, and the session's own connection the session.
    if (::dup2(announced, k_announced) < 0 || ::dup2(guarded, k_guarded) < 0 || ::close_range(k_guarded + 1, UINT_MAX, 0) != 0) ::_exit(1);
    const int command = await_command();
    if (command < 0) ::_exit(0);
    std::array<pollfd, 2> set{pollfd{command, POLLIN, 0}, pollfd{k_guarded, POLLIN, 0}};
    while (::poll(set.data(), set.size(), -1) < 0 && errno == EINTR) {
    }
    if (set[0].revents == 0 && !has_ended(command, grace_ms)) ::syscall(SYS_pidfd_send_signal, command, SIGKILL, nullptr, 0);
    ::_exit(0);
}

} // namespace

HostGuard::HostGuard(Milliseconds grace) {
    const Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    if (!self) throw errno_error("cannot watch this process");
    Pipe pipe = make_pipe();
    m_pid = ::fork();
    if (m_pid < 0) throw errno_error("cannot start a process");
    if (m_pid == 0) guard(pipe.read.get(), self.get(), static_cast<int>(grace.count()));
    m_announce = std::move(pipe.write);
}

HostGuard::~HostGuard() {
    ::kill(m_pid, SIGKILL);
    while (::waitpid(m_pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

} // namespace sandbox::app
