// SPDX-License-Identifier: Apache-2.0
// When a session ends by itself: TTL and idle time-out on CLOCK_BOOTTIME. Pure; the clock is handed in.
//
//   if (const auto due = deadlines.next(); due && *due <= now) ...
#pragma once

#include <cstdint>
#include <optional>

namespace sandbox::agent {

class Deadlines {
  public:
    // 0: none.
    void set_ttl(std::int64_t boot_ms) { m_ttl = boot_ms; }
    void set_idle_timeout(std::int64_t milliseconds) { m_idle_timeout = milliseconds; }
    void begin_operation() { ++m_operations; }
    void end_operation(std::int64_t now);
    // Starts the idle time anew.
    void touch(std::int64_t now) { m_idle_since = now; }

    std::uint32_t operations() const { return m_operations; }
    std::int64_t ttl() const { return m_ttl; }
    std::int64_t idle_timeout() const { return m_idle_timeout; }
    // Milliseconds until idle fires; -1: busy or no idle limit.
    std::int64_t idle_left(std::int64_t now) const;
    // When the next of the two is due. `client_waits`: one has connected and not said yet what it wants; idle waits
    // for it, but not longer than `patience` past its time, so that nobody holds a session by knocking.
    std::optional<std::int64_t> next(bool client_waits, std::int64_t patience) const;

  private:
    std::int64_t m_ttl = 0;
    std::int64_t m_idle_timeout = 0;
    std::int64_t m_idle_since = 0;
    std::uint32_t m_operations = 0;
};

} // namespace sandbox::agent
