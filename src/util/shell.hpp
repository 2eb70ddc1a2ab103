// SPDX-License-Identifier: Apache-2.0
// Words of a line that somebody is to give to a shell.
//
//   hint("git config --add safe.directory " + shell_quoted(path));
#pragma once

#include <string>
#include <string_view>

namespace sandbox {

// As one word of a shell's line: bare where that is the same, else in single quotes.
std::string shell_quoted(std::string_view word);

} // namespace sandbox
