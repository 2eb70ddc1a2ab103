// SPDX-License-Identifier: Apache-2.0
// Help, made from the command table.
//
//   print_out(help_for(*find_command("exec")));
#pragma once

#include "cli/command.hpp"

#include <string>
#include <string_view>

namespace sandbox::cli {

std::string overview();
std::string help_for(const Command& command);
// The commands that start with this word ("workspace"); empty when there is none.
std::string group_help(std::string_view word);

} // namespace sandbox::cli
