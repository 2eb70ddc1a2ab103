// SPDX-License-Identifier: Apache-2.0
#include "channel/tree_wait.hpp"

#include "util/ending_signals.hpp"

#include <cerrno>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace sandbox::channel {

InterruptWatch::InterruptWatch() {
    const sigset_t wanted = ending_signals();
    m_signals.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!m_signals) throw errno_error("cannot watch for signals");
    ::pthread_sigmask(SIG_BLOCK, &wanted, &m_before);
}

InterruptWatch::~InterruptWatch() { ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr); }

void InterruptWatch::check() {
    signalfd_siginfo info{};
    if (::read(m_signals.get(), &info, sizeof info) != sizeof info) return;
    throw interrupted_by(static_cast<int>(info.ssi_signo));
}

Ready wait_for(agent::FramedStream& connection, Wanted wanted, InterruptWatch& interrupts, int timeout_ms) {
    for (;;) {
        if (connection.stream().buffered()) return Ready::readable;
        const short events = wanted == Wanted::writable ? POLLIN | POLLOUT : POLLIN;
        pollfd watched[2] = {{connection.fd(), events, 0}, {interrupts.fd(), POLLIN, 0}};
        const int count = ::poll(watched, 2, timeout_ms);
        if (count < 0 && errno != EINTR) throw errno_error("cannot wait for the session");
        if (count == 0) return Ready::timed_out;
        if (watched[1].revents != 0) interrupts.check();
        const int seen = watched[0].revents;
        if (seen != 0) return seen == POLLOUT ? Ready::writable : Ready::readable;
    }
}

void wait_writable_or_interrupted(int fd, InterruptWatch& interrupts) {
    for (;;) {
        pollfd watched[2] = {{fd, POLLOUT, 0}, {interrupts.fd(), POLLIN, 0}};
        if (::poll(watched, 2, -1) < 0 && errno != EINTR) throw errno_error("cannot wait for the output's reader");
        if (watched[1].revents != 0) interrupts.check();
        if (watched[0].revents != 0) return;
    }
}

} // namespace sandbox::channel
