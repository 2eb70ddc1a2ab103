// SPDX-License-Identifier: Apache-2.0
#include "agent/subtree.hpp"

#include "util/error.hpp"

#include <cerrno>
#include <csignal>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

Fd child_signal_fd() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGCHLD);
    Fd file(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!file) throw errno_error("cannot watch for children");
    return file;
}

} // namespace

Subtree::Subtree() : m_signals(child_signal_fd()) { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void Subtree::reap(const std::function<void(pid_t, int)>& ended) {
    signalfd_siginfo ignored{};
    // The signal only says that something happened; one may stand for many children.
    while (::read(m_signals.get(), &ignored, sizeof ignored) > 0) {}
    for (;;) {
        int status = 0;
        const pid_t pid = ::waitpid(-1, &status, WNOHANG);
        if (pid < 0 && errno == EINTR) continue;
        if (pid <= 0) {
            m_has_children = pid == 0;
            return;
        }
        ended(pid, status);
    }
}

void Subtree::signal(int number) const {
    for (const Process& process : descendants_of(::getpid())) {
        send_signal(process, number);
        if (process.state == 'T') send_signal(process, SIGCONT);
    }
}

int Subtree::end(const std::function<void()>& reap) const {
    return end_all(m_own, [] { return std::vector<pid_t>{}; }, reap);
}

} // namespace sandbox::agent
