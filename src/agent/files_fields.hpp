// SPDX-License-Identifier: Apache-2.0
// Fields that the messages about trees and about single files share.
//
//   message.source = path_field(reader); message.max_file = limit_field(reader);
#pragma once

#include "agent/files_messages.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace sandbox::agent {

// Throws WireError for what no path can be.
inline std::string path_field(Reader& reader) {
    const std::string_view path = reader.text();
    if (path.size() > k_max_path_field || path.find('\0') != std::string_view::npos) throw WireError("bad path");
    return std::string(path);
}

inline std::optional<std::uint64_t> limit_field(Reader& reader) {
    const bool is_set = reader.flag();
    const auto value = reader.u64();
    return is_set ? std::optional(value) : std::nullopt;
}

} // namespace sandbox::agent
