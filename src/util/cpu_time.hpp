// SPDX-License-Identifier: Apache-2.0
// Times of getrusage(2) as one number.
//
//   usage.user_cpu_us = microseconds(usage.ru_utime);
#pragma once

#include <cstdint>
#include <sys/time.h>

namespace sandbox {

constexpr std::int64_t microseconds(const timeval& time) { return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec; }

} // namespace sandbox
