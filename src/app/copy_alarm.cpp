// SPDX-License-Identifier: Apache-2.0
#include "app/copy_alarm.hpp"

#include "util/error.hpp"

namespace sandbox::app {
namespace {

sigset_t term_alone() {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    return term;
}

} // namespace

CopyAlarm::CopyAlarm(std::optional<Milliseconds> within) {
    if (!within) return;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGTERM;
    if (::timer_create(CLOCK_MONOTONIC, &event, &m_timer.emplace()) != 0) throw errno_error("cannot set a timer");
    const sigset_t term = term_alone();
    ::pthread_sigmask(SIG_BLOCK, &term, &m_mask);
    struct sigaction heard {};
    heard.sa_handler = SIG_DFL;
    ::sigaction(SIGTERM, &heard, &m_action);
    itimerspec when{};
    when.it_value = {within->count() / 1000, within->count() % 1000 * 1'000'000};
    ::timer_settime(*m_timer, 0, &when, nullptr);
    m_until = boot_now_ms() + within->count();
}

CopyAlarm::~CopyAlarm() {
    if (!m_timer) return;
    ::timer_delete(*m_timer);
    const sigset_t term = term_alone();
    const timespec now{};
    ::sigtimedwait(&term, nullptr, &now);
    ::sigaction(SIGTERM, &m_action, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &m_mask, nullptr);
}

} // namespace sandbox::app
