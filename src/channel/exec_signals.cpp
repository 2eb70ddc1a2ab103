// SPDX-License-Identifier: Apache-2.0
#include "channel/exec_signals.hpp"

#include "agent/messages.hpp"
#include "util/error.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace sandbox::channel {
namespace {

// nohup and a shell's background jobs ignore some signals; they go on being ignored.
bool is_ignored(int number) {
    struct sigaction action {};
    return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t signals_to_take(bool with_window) {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
        if (!is_ignored(number)) sigaddset(&set, number);
    }
    if (with_window) sigaddset(&set, SIGWINCH);
    return set;
}

void raise_event(int fd) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd, &one, sizeof one);
}

} // namespace

void FrameSender::send(std::string_view frame) {
    const std::lock_guard lock(m_mutex);
    try {
        m_connection.write(frame);
    } catch (const Error&) {
        // The agent is gone, or has said its last word already.
    }
}

SignalForwarder::SignalForwarder(FrameSender& sender, std::function<WindowSize()> window_size)
    : m_sender(sender), m_window_size(std::move(window_size)) {
    const sigset_t wanted = signals_to_take(static_cast<bool>(m_window_size));
    m_signals.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    m_stop.reset(::eventfd(0, EFD_CLOEXEC));
    m_ended.reset(::eventfd(0, EFD_CLOEXEC));
    if (!m_signals || !m_stop || !m_ended) throw errno_error("cannot watch for signals");
    ::pthread_sigmask(SIG_BLOCK, &wanted, &m_before);
    m_thread = std::thread([this] { run(); });
}

SignalForwarder::~SignalForwarder() {
    raise_event(m_stop.get());
    m_thread.join();
    ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
}

void SignalForwarder::run() {
    for (;;) {
        std::array<pollfd, 2> set{pollfd{m_signals.get(), POLLIN, 0}, pollfd{m_stop.get(), POLLIN, 0}};
        ::poll(set.data(), set.size(), -1);
        if (set[1].revents != 0) return;
        signalfd_siginfo info{};
        while (::read(m_signals.get(), &info, sizeof info) == sizeof info) pass_on(static_cast<int>(info.ssi_signo));
    }
}

void SignalForwarder::pass_on(int number) {
    if (number == SIGWINCH) {
        const WindowSize size = m_window_size();
        return m_sender.send(agent::encode_resize(size.rows, size.columns));
    }
    if (number != SIGUSR1 && number != SIGUSR2 && m_end_signal == 0) {
        m_end_signal = number;
        raise_event(m_ended.get());
    }
    m_sender.send(agent::encode_signal(static_cast<std::uint32_t>(number)));
}

} // namespace sandbox::channel
