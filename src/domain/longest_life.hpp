// SPDX-License-Identifier: Apache-2.0
// The bound on every time to live: one that is longer would never end.
//
//   if (ttl > k_longest_life) throw ...
#pragma once

#include <chrono>

namespace sandbox::domain {

inline constexpr std::chrono::hours k_longest_life{24 * 365};

} // namespace sandbox::domain
