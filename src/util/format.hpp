// SPDX-License-Identifier: Apache-2.0
// Text with values in it, by fmt's rules, without fmt's code in every file: what formats is compiled once, in format.cpp.
//
//   throw field.error(formatted("\"{}\" is not a size", shown(text)));
#pragma once

#include <fmt/core.h>

#include <string>

namespace sandbox {

std::string format_arguments(fmt::string_view format, fmt::format_args arguments);

// fmt::format(): the format is checked when it is compiled.
template <typename... T> std::string formatted(fmt::format_string<T...> format, T&&... values) {
    return format_arguments(format, fmt::make_format_args(values...));
}

} // namespace sandbox
