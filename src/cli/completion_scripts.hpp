// SPDX-License-Identifier: Apache-2.0
// The scripts of completions/, in the binary.
//
//   print_out(k_bash_completion);
#pragma once

#include <string_view>

namespace sandbox::cli {

extern const std::string_view k_bash_completion;
extern const std::string_view k_zsh_completion;
extern const std::string_view k_fish_completion;

} // namespace sandbox::cli
