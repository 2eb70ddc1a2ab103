// SPDX-License-Identifier: Apache-2.0
#include "app/interrupt.hpp"

#include "util/ending_signals.hpp"

namespace sandbox::app {

Interrupt::Interrupt() {
    const sigset_t signals = ending_signals();
    ::pthread_sigmask(SIG_BLOCK, &signals, &m_previous);
}

Interrupt::~Interrupt() { ::pthread_sigmask(SIG_SETMASK, &m_previous, nullptr); }

void Interrupt::check() { wait(std::chrono::milliseconds(0)); }

void Interrupt::wait(std::chrono::milliseconds time) { wait_unless_ended(time); }

} // namespace sandbox::app
