// SPDX-License-Identifier: Apache-2.0
#include "engine/api_version.hpp"

#include "util/error.hpp"

#include <algorithm>
#include <charconv>

namespace sandbox::engine {

std::string ApiVersion::text() const { return std::to_string(major) + "." + std::to_string(minor); }

std::optional<ApiVersion> parse_api_version(std::string_view text) {
    ApiVersion version;
    const char* const end = text.data() + text.size();
    const auto [dot, failure] = std::from_chars(text.data(), end, version.major);
    if (failure != std::errc{} || dot == end || *dot != '.') return std::nullopt;
    const auto [rest, second_failure] = std::from_chars(dot + 1, end, version.minor);
    if (second_failure != std::errc{} || rest != end) return std::nullopt;
    return version;
}

ApiVersion choose_version(const VersionRange& theirs) {
    const ApiVersion version = std::min(k_our_versions.newest, theirs.newest);
    if (version >= k_our_versions.oldest && version >= theirs.oldest) return version;
    throw Error(ErrorCode::engine_error, "the engine speaks API versions " + theirs.oldest.text() + " to " +
                                             theirs.newest.text() + ", sandbox speaks " + k_our_versions.oldest.text() +
                                             " to " + k_our_versions.newest.text())
        .hint(theirs.newest < k_our_versions.oldest ? "use a newer engine" : "use a newer sandbox");
}

} // namespace sandbox::engine
