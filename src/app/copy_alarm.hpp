// SPDX-License-Identifier: Apache-2.0
// An end for copies that take too long: TERM comes to this process when the time is over, as if it were signalled.
//
//   const CopyAlarm alarm(Milliseconds(5000)); copy(...); if (alarm.is_over()) ...
#pragma once

#include "util/time.hpp"

#include <csignal>
#include <ctime>
#include <optional>

namespace sandbox::app {

class CopyAlarm {
  public:
    // Absent: none. TERM is held back outside of a copy, for it must not end this process, whose session is still there; and it is heard by
    // the copy though the caller may have this process ignore it. Throws Error, with nothing changed, where there can be no timer.
    explicit CopyAlarm(std::optional<Milliseconds> within);
    CopyAlarm(const CopyAlarm&) = delete;
    CopyAlarm& operator=(const CopyAlarm&) = delete;
    // Takes back what it has changed, and a TERM that has come too late.
    ~CopyAlarm();
    bool is_over() const { return m_timer && boot_now_ms() >= m_until; }

  private:
    std::optional<timer_t> m_timer;
    std::int64_t m_until = 0;
    struct sigaction m_action {};
    sigset_t m_mask{};
};

} // namespace sandbox::app
