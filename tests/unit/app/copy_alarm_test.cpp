// SPDX-License-Identifier: Apache-2.0
#include "app/copy_alarm.hpp"
#include "util/error.hpp"

#include <csignal>
#include <doctest/doctest.h>
#include <sys/resource.h>

using namespace sandbox;
using namespace sandbox::app;

namespace {

bool is_held_back() {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return ::sigismember(&mask, SIGTERM) == 1;
}

bool is_ignored() {
    struct sigaction action {};
    ::sigaction(SIGTERM, nullptr, &action);
    return action.sa_handler == SIG_IGN;
}

} // namespace

TEST_CASE("an alarm changes what becomes of TERM as long as it is set, and an alarm that cannot be set nothing") {
    const auto before = std::signal(SIGTERM, SIG_IGN);
    {
        const CopyAlarm none(std::nullopt);
        CHECK(!is_held_back());
        CHECK(!none.is_over());
        const CopyAlarm alarm(Milliseconds(1));
        CHECK(is_held_back());
        CHECK(!is_ignored());
        int number = 0;
        const sigset_t term = [] {
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGTERM);
            return set;
        }();
        CHECK(::sigwait(&term, &number) == 0);
        CHECK(alarm.is_over());
    }
    CHECK(!is_held_back());
    CHECK(is_ignored());
    // A timer takes one of the signals that may wait for this user.
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_SIGPENDING, &limit) == 0);
    const rlimit none{0, limit.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_SIGPENDING, &none) == 0);
    CHECK_THROWS_AS(CopyAlarm(Milliseconds(1000)), Error);
    REQUIRE(::setrlimit(RLIMIT_SIGPENDING, &limit) == 0);
    CHECK(!is_held_back());
    CHECK(is_ignored());
    std::signal(SIGTERM, before);
}
