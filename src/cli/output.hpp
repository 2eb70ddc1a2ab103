// SPDX-License-Identifier: Apache-2.0
// What goes to people and programs: tables on stdout, lines on stderr, JSON documents.
//
//   print_out(table({"ID", "STATE"}, rows));
#pragma once

#include "util/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::cli {

// Writes to stdout. A reader that went away ends the program as SIGPIPE would: throws interrupted with SIGPIPE.
void print_out(std::string_view text);
// One line on stderr: "sandbox: TEXT". Never fails.
void say(std::string_view text);
// "sandbox: error: MESSAGE" and "hint: HINT" on stderr.
void print_error(const Error& error);
// Left-aligned columns, two spaces apart; cells are made safe for a terminal.
std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

} // namespace sandbox::cli
