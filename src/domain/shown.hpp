// SPDX-License-Identifier: Apache-2.0
// How a value of unknown length and content stands in a message.
//
//   throw Error(ErrorCode::usage, fmt::format("\"{}\" is not a size", shown(text)));
#pragma once

#include "util/text.hpp"

#include <string>
#include <string_view>

namespace sandbox::domain {

// printable(), cut after a hundred bytes.
inline std::string shown(std::string_view text) {
    constexpr std::size_t most = 100;
    if (text.size() <= most) return printable(text);
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return printable(text.substr(0, end)) + "...";
}

} // namespace sandbox::domain
