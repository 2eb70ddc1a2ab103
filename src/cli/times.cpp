// SPDX-License-Identifier: Apache-2.0
#include "cli/times.hpp"

#include "domain/units.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

namespace sandbox::cli {

std::int64_t parse_since(const std::string& text) {
    if (const auto time = parse_rfc3339(text)) return *time;
    try {
        return wall_now_ms() - domain::parse_duration(text).count();
    } catch (const Error&) {
        throw Error(ErrorCode::usage, "--since " + quoted(text) + " is neither a time nor an age")
            .hint("--since 10m, or --since 2026-11-29T18:20:00Z");
    }
}

} // namespace sandbox::cli
