// SPDX-License-Identifier: Apache-2.0
#include "util/ending_signals.hpp"

#include <string>
#include <string.h>

namespace sandbox {

sigset_t ending_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) ::sigaddset(&set, number);
    }
    return set;
}

Error interrupted_by(int number) {
    return Error(ErrorCode::interrupted, std::string("interrupted by SIG") + ::sigabbrev_np(number)).signal(number);
}

void wait_unless_ended(std::chrono::milliseconds time) {
    sigset_t held;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &held);
    const sigset_t ending = ending_signals();
    sigset_t wanted;
    ::sigandset(&wanted, &held, &ending);
    const timespec patience{time.count() / 1000, (time.count() % 1000) * 1'000'000};
    const int number = ::sigtimedwait(&wanted, nullptr, &patience);
    if (number > 0) throw interrupted_by(number);
}

} // namespace sandbox
