// SPDX-License-Identifier: Apache-2.0
#include "channel/exec_signals.hpp"

#include "agent/messages.hpp"
#include "util/error.hpp"
#include "util/poll_time.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <span>
#include <sys/signalfd.h>
#include <unistd.h>

namespace sandbox::channel {
namespace {

// The agent knows these, and the command gets the very signal.
constexpr std::array k_known{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
// These would end this process on the spot and leave the caller's terminal raw. To the command they mean TERM.
constexpr std::array k_fatal{SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGIO, SIGPWR, SIGSTKFLT};

bool is_one_of(std::span<const int> numbers, int number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

sighandler_t disposition(int number) {
    struct sigaction action {};
    return ::sigaction(number, nullptr, &action) == 0 ? action.sa_handler : SIG_IGN;
}

sigset_t signals_to_take(bool with_window) {
    sigset_t set;
    sigemptyset(&set);
    // nohup and a shell's background jobs ignore some signals; they go on being ignored.
    for (const int number : k_known) {
        if (disposition(number) != SIG_IGN) sigaddset(&set, number);
    }
    // One with a handler (a profiler's, say) ends nothing.
    for (const int number : k_fatal) {
        if (disposition(number) == SIG_DFL) sigaddset(&set, number);
    }
    if (with_window) sigaddset(&set, SIGWINCH);
    return set;
}

} // namespace

void send_frame(agent::FramedStream& connection, std::string_view frame) {
    try {
        connection.write(frame);
    } catch (const Error&) {
        // The agent is gone, or has said its last word already.
    }
}

SignalForwarder::SignalForwarder(agent::FramedStream& connection, std::function<WindowSize()> window_size)
    : m_connection(connection), m_window_size(std::move(window_size)) {
    const sigset_t wanted = signals_to_take(static_cast<bool>(m_window_size));
    m_signals.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!m_signals) throw errno_error("cannot watch for signals");
    ::pthread_sigmask(SIG_BLOCK, &wanted, &m_before);
}

SignalForwarder::~SignalForwarder() { ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr); }

void SignalForwarder::pass_on() {
    signalfd_siginfo info{};
    while (::read(m_signals.get(), &info, sizeof info) == sizeof info) pass_on(static_cast<int>(info.ssi_signo));
}

void SignalForwarder::pass_on(int number) {
    if (number == SIGWINCH) {
        const WindowSize size = m_window_size();
        return send_frame(m_connection, agent::encode_resize(size.rows, size.columns));
    }
    if (number != SIGUSR1 && number != SIGUSR2) {
        if (m_end_signal != 0) m_is_impatient = true;
        else m_end_signal = number;
    }
    const int meant = is_one_of(k_known, number) ? number : SIGTERM;
    send_frame(m_connection, agent::encode_signal(static_cast<std::uint32_t>(meant)));
}

bool SignalForwarder::wait_writable(int fd, std::int64_t until) {
    for (;;) {
        std::array<pollfd, 2> set{pollfd{fd, POLLOUT, 0}, pollfd{m_signals.get(), POLLIN, 0}};
        const int left = until == 0 ? -1 : poll_time_until(until);
        const bool is_over = m_end_signal != 0 || left == 0;
        if (::poll(set.data(), set.size(), is_over ? 0 : left) < 0 && errno != EINTR) throw errno_error("poll");
        if (set[1].revents != 0) pass_on();
        if (set[0].revents != 0) return true;
        if (is_over) return false;
    }
}

} // namespace sandbox::channel
