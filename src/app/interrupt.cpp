// SPDX-License-Identifier: Apache-2.0
#include "app/interrupt.hpp"

#include "util/error.hpp"

#include <cstring>
#include <string>

namespace sandbox::app {

Interrupt::Interrupt() {
    ::sigemptyset(&m_signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&m_signals, number);
    ::pthread_sigmask(SIG_BLOCK, &m_signals, &m_previous);
}

Interrupt::~Interrupt() { ::pthread_sigmask(SIG_SETMASK, &m_previous, nullptr); }

void Interrupt::check() {
    const timespec at_once{};
    const int number = ::sigtimedwait(&m_signals, nullptr, &at_once);
    if (number > 0) {
        throw Error(ErrorCode::interrupted, std::string("interrupted by SIG") + ::sigabbrev_np(number)).signal(number);
    }
}

} // namespace sandbox::app
