// SPDX-License-Identifier: Apache-2.0
// Clocks and their text forms. Deadlines are kept twice: as wall time for people, and as CLOCK_BOOTTIME with the
// boot id for the machine, so that a stepped wall clock moves no deadline.
//
//   const auto left = expires - wall_now();
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox {

using Milliseconds = std::chrono::milliseconds;

// Milliseconds since the Unix epoch (CLOCK_REALTIME).
std::int64_t wall_now_ms();
// Milliseconds since boot, suspend included (CLOCK_BOOTTIME); the same number inside and outside containers.
std::int64_t boot_now_ms();
// The kernel's random id of this boot (/proc/sys/kernel/random/boot_id); empty where it cannot be read.
std::string boot_id();
// 2026-11-29T18:20:00Z
std::string format_rfc3339(std::int64_t wall_ms);
// 2026-11-29T18:20:00.123Z
std::string format_rfc3339_ms(std::int64_t wall_ms);
// The inverse, in milliseconds; takes fractions, "Z" and "+02:00". Absent for anything else.
std::optional<std::int64_t> parse_rfc3339(std::string_view text);
// For people, two units at most: "450ms", "1.5s", "12s", "3m 20s", "2h 5m", "9d".
std::string format_duration(Milliseconds duration);

} // namespace sandbox
