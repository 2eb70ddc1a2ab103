// SPDX-License-Identifier: Apache-2.0
// What users of docker, kubectl and git type first, and what to type here instead.
//
//   if (const auto hint = hint_for_verb("logs")) error.hint(*hint);
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sandbox::cli {

// In place of a command's name: the option stands before it.
inline constexpr std::string_view k_before_commands = "sandbox";

std::optional<std::string> hint_for_verb(std::string_view verb);
std::optional<std::string> hint_for_option(std::string_view command, std::string_view option);
std::optional<std::string> hint_for_argument(std::string_view command, std::string_view argument);

} // namespace sandbox::cli
