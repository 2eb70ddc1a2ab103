// SPDX-License-Identifier: Apache-2.0
// The time until a moment of CLOCK_BOOTTIME as poll(2) takes it.
//
//   ::poll(set.data(), set.size(), poll_time_until(deadline));
#pragma once

#include "util/time.hpp"

#include <algorithm>
#include <cstdint>

namespace sandbox {

// Milliseconds, 0 once it has passed, and never more than twelve days.
inline int poll_time_until(std::int64_t boot_ms) { return static_cast<int>(std::clamp<std::int64_t>(boot_ms - boot_now_ms(), 0, 1 << 30)); }

} // namespace sandbox
