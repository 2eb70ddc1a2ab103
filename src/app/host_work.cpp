// SPDX-License-Identifier: Apache-2.0
#include "app/host_work.hpp"

#include "app/host_guard.hpp"
#include "util/ending_signals.hpp"
#include "util/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sandbox::app {
namespace {

constexpr Milliseconds k_grace{5000};

std::vector<std::string> merged_environment(const std::vector<std::string>& additions) {
    std::vector<std::string> list = additions;
    const auto name_of = [](std::string_view variable) { return variable.substr(0, variable.find('=')); };
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const bool is_replaced = std::ranges::any_of(additions, [&](const std::string& one) { return name_of(one) == name_of(*variable); });
        if (!is_replaced) list.emplace_back(*variable);
    }
    return list;
}

bool is_ignored(int signal) {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Nobody has sent a signal, so that it has to be said.
Error caller_gone(const std::string& command) {
    return Error(ErrorCode::interrupted, "its caller is gone: the command was " + command)
        .hint("under nohup sandbox with runs on without one")
        .signal(SIGHUP);
}

bool is_readable(int fd) {
    pollfd entry{fd, POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
}

class HostWork {
  public:
    explicit HostWork(const HostCommand& command)
        : m_caller(command.caller != nullptr ? command.caller->get() : -1), m_child({.argv = command.argv,
                                             .env = merged_environment(command.environment),
                                             .group = ProcessGroup::shared,
                                             .parent_death_signal = SIGTERM,
                                             .announce_fd = m_guard.announce_fd()}),
          m_session(command.session_fd) {
        m_guard.arm();
        const sigset_t ending = ending_signals();
        m_signals.reset(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
        if (!m_signals) throw errno_error("cannot watch for signals");
    }

    HostEnd run() {
        while (!has_ended()) {
        }
        HostEnd end;
        end.status = m_child.wait(&end.usage);
        if (m_signal != 0 && (end.status.success() || end.status.signal != 0)) throw m_is_alone ? caller_gone("ended") : interrupted_by(m_signal);
        return end;
    }

  private:
    bool has_ended() {
        std::array<pollfd, 4> set{pollfd{m_child.pidfd(), POLLIN, 0}, pollfd{m_signals.get(), POLLIN, 0}, pollfd{m_caller, POLLIN, 0},
                                  pollfd{m_session, POLLIN, 0}};
        const int timeout = m_kill_at == 0 ? -1 : static_cast<int>(std::max<std::int64_t>(m_kill_at - boot_now_ms(), 0));
        if (::poll(set.data(), set.size(), timeout) < 0 && errno != EINTR) throw errno_error("poll");
        if (set[0].revents != 0) return true;
        if (set[1].revents != 0) pass_signals();
        if (set[2].revents != 0) lose_caller();
        if (set[3].revents != 0) {
            std::fputs("sandbox: the session has ended before its command\n", stderr);
            m_session = -1;
        }
        if (m_kill_at != 0 && boot_now_ms() >= m_kill_at) {
            m_child.kill(SIGKILL);
            m_kill_at = 0;
        }
        return false;
    }

    void pass_signals() {
        signalfd_siginfo info{};
        while (::read(m_signals.get(), &info, sizeof info) == sizeof info) {
            const int number = static_cast<int>(info.ssi_signo);
            if (m_signal != 0) {
                m_child.kill(SIGKILL);
            } else {
                m_signal = number;
                // A key of the terminal reaches all of its foreground, the command included; a hang-up only whoever leads the session.
                if (info.ssi_code != SI_KERNEL || number != SIGINT) m_child.kill(number);
            }
        }
    }

    void lose_caller() {
        m_caller = -1;
        m_is_alone = true;
        m_signal = SIGHUP;
        m_child.kill(SIGTERM);
        m_kill_at = boot_now_ms() + k_grace.count();
    }

    int m_caller;
    HostGuard m_guard{k_grace};
    Child m_child;
    Fd m_signals;
    int m_session;
    int m_signal = 0; // the first that asked for the end
    bool m_is_alone = false; // and its caller's end was that
    std::int64_t m_kill_at = 0;
};

} // namespace

Fd watch_caller() {
    const pid_t parent = ::getppid();
    if (parent <= 1 || is_ignored(SIGHUP)) return {};
    Fd file(static_cast<int>(::syscall(SYS_pidfd_open, parent, 0)));
    // It may have gone in between, and its pid been given to another process.
    if (file && ::getppid() != parent) file.reset();
    return file;
}

HostEnd run_host_command(const HostCommand& command) {
    if (command.caller != nullptr && *command.caller && is_readable(command.caller->get())) throw caller_gone("not started");
    return HostWork(command).run();
}

} // namespace sandbox::app
