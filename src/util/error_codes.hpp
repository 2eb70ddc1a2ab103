// SPDX-License-Identifier: Apache-2.0
// The closed list of error codes as a whole, for the manual.
//
//   for (const ErrorCode code : all_error_codes()) std::cout << error_code_name(code) << '\n';
#pragma once

#include "util/error.hpp"

#include <span>
#include <string_view>

namespace sandbox {

std::span<const ErrorCode> all_error_codes();
// What a code means: one line, no full stop.
std::string_view error_summary(ErrorCode code);

} // namespace sandbox
