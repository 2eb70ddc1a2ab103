// SPDX-License-Identifier: Apache-2.0
#include "app/interrupt.hpp"

#include "util/ending_signals.hpp"

#include <poll.h>

namespace sandbox::app {
namespace {

constexpr int k_glance_ms = 100; // between two looks for a signal

} // namespace

Interrupt::Interrupt() {
    const sigset_t signals = ending_signals();
    ::pthread_sigmask(SIG_BLOCK, &signals, &m_previous);
}

Interrupt::~Interrupt() { ::pthread_sigmask(SIG_SETMASK, &m_previous, nullptr); }

void Interrupt::check() { wait(std::chrono::milliseconds(0)); }

void Interrupt::wait(std::chrono::milliseconds time) { wait_unless_ended(time); }

std::function<bool(int)> Interrupt::wait_writable() {
    return [this](int fd) {
        pollfd watched{fd, POLLOUT, 0};
        while (::poll(&watched, 1, k_glance_ms) == 0) check();
        return true;
    };
}

} // namespace sandbox::app
