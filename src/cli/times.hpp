// SPDX-License-Identifier: Apache-2.0
// Points in time as options take them.
//
//   if (const auto text = call.value("since")) since = parse_since(*text);
#pragma once

#include <cstdint>
#include <string>

namespace sandbox::cli {

// Wall time in milliseconds, from "2026-11-29T18:20:00Z" or an age ("10m"). Throws usage.
std::int64_t parse_since(const std::string& text);

} // namespace sandbox::cli
