// SPDX-License-Identifier: Apache-2.0
// How a value of unknown length and content stands in a message.
//
//   throw Error(ErrorCode::usage, formatted("\"{}\" is not a size", shown(text)));
#pragma once

#include "util/text.hpp"

#include <string>
#include <string_view>

namespace sandbox::domain {

// printable(), cut after a hundred bytes.
inline std::string shown(std::string_view text) {
    return shortened(text, 100);
}

} // namespace sandbox::domain
