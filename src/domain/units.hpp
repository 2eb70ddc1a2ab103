// SPDX-License-Identifier: Apache-2.0
// The scalar grammars of section 4: sizes, durations and modes, read from their text and never from a resolved number.
//
//   parse_size("64KB") == 64000;  parse_size("1GiB") == 1 << 30;  parse_mode("0644") == 0644
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace sandbox::domain {

// Bytes. Units: B (or none), KB MB GB TB (1000), KiB MiB GiB TiB (1024), and docker's k m g t (1024), all without
// regard to case. A fraction is allowed with a unit ("1.5GB"). Throws usage: what, and what is accepted.
std::uint64_t parse_size(std::string_view text);
// Units ms s m h d, one or several in falling order ("1h30m"), fraction allowed in the last ("0.5s"). "0" is zero; any other number
// without a unit is refused with the hint to write the unit. Negative, NaN and overflow are refused.
std::chrono::milliseconds parse_duration(std::string_view text);
// Octal text, an optional 0 or 0o prefix: "644", "0644", "0o644" are 0644. At most 07777. "0x1a4", "888" are refused.
std::uint32_t parse_mode(std::string_view text);
// "512MB" or "1GiB": the shortest exact form, else bytes.
std::string format_size(std::uint64_t bytes);
// The exact inverse of parse_duration: "1h30m", "250ms", "0".
std::string format_duration_exact(std::chrono::milliseconds duration);

} // namespace sandbox::domain
