// SPDX-License-Identifier: Apache-2.0
// From argv to a command and its invocation.
//
//   ParsedLine line = parse_line({argv + 1, argv + argc});
#pragma once

#include "cli/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::cli {

// Among the options of a command whose first argument is the command to be run: given where a "--" stood before it.
inline constexpr std::string_view k_separator = "--";

struct ParsedLine {
    const Command* command = nullptr; // null: no verb (then help or version was asked for, or nothing)
    bool wants_help = false;
    bool wants_version = false;
    bool json = false; // known even when the rest does not parse, so that the error can be JSON
    std::string group; // "workspace" for `sandbox workspace --help`
    std::map<std::string, std::vector<std::string>> options;
    std::vector<std::string> arguments;
};

// Finds the verb alone; never throws. What an error about the rest needs to know is in it.
ParsedLine find_verb(const std::vector<std::string>& line);
// The whole line. Throws usage with a "did you mean" where one is near.
ParsedLine parse_line(const std::vector<std::string>& line);

} // namespace sandbox::cli
