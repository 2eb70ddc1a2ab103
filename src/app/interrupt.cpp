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

void Interrupt::check() { wait(std::chrono::milliseconds(0)); }

void Interrupt::wait(std::chrono::milliseconds time) {
    const timespec patience{time.count() / 1000, (time.count() % 1000) * 1'000'000};
    const int number = ::sigtimedwait(&m_signals, nullptr, &patience);
    if (number > 0) {
        throw Error(ErrorCode::interrupted, std::string("interrupted by SIG") + ::sigabbrev_np(number)).signal(number);
    }
}

} // namespace sandbox::app
