// SPDX-License-Identifier: Apache-2.0
// Versions of the Docker Engine API, and which of them a call uses.
//
//   const ApiVersion used = choose_version({{1, 24}, {1, 41}});   // 1.41
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox::engine {

struct ApiVersion {
    int major = 0;
    int minor = 0;
    auto operator<=>(const ApiVersion&) const = default;
    std::string text() const; // "1.41"
};

struct VersionRange {
    ApiVersion oldest;
    ApiVersion newest;
};

// What this client speaks. Older engines silently ignore fields that we rely on: 1.35 brought the working directory
// of an exec.
constexpr VersionRange k_our_versions{{1, 35}, {1, 47}};

std::optional<ApiVersion> parse_api_version(std::string_view text);
// The newest version that both speak. Throws engine_error, which names both ranges, when there is none.
ApiVersion choose_version(const VersionRange& theirs);

} // namespace sandbox::engine
