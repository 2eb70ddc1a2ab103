// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, so that they are spelled and described once.
//
//   std::vector<Option> ps_options() { return {label_option(), all_owners_option(), ...}; }
#pragma once

#include "cli/command.hpp"

namespace sandbox::cli {

Option label_option();      // -l/--label, selecting
Option all_owners_option();
// Whose sessions a command with all_owners_option() has looked for, in the words of a message.
std::string whose(Invocation& call);
std::vector<Option> no_options();

} // namespace sandbox::cli
