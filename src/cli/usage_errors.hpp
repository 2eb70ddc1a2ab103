// SPDX-License-Identifier: Apache-2.0
// What is said of a line that does not parse: the word that was not understood, and what was probably meant.
//
//   if (command == nullptr) unknown_verb(name);
#pragma once

#include "cli/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::cli {

// The option that a word names, as "--name" or "-n"; null when there is none.
const Option* find_option(const std::vector<Option>& options, std::string_view word);
// An option with its value in the same word: "--name" of "--name=web".
std::string name_of_option(std::string_view word);

// These throw usage, with the nearest name or the right command as the hint.
[[noreturn]] void unknown_verb(const std::string& name);
[[noreturn]] void unknown_option(const Command& command, const std::string& word, const std::vector<Option>& options);
// What stands before the command is an option of all commands, or none.
[[noreturn]] void unknown_global(const std::string& word, const std::vector<std::string>& line);
// `word` of `rest` stands where the command to run is expected.
[[noreturn]] void option_after_session(const Command& command, const std::string& word, const std::vector<std::string>& rest,
                                       const std::vector<Option>& options);
// Throws usage where there are fewer or more than the command takes.
void check_count(const Command& command, const std::vector<std::string>& arguments);

} // namespace sandbox::cli
