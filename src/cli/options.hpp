// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, so that they are spelled and described once.
//
//   std::vector<Option> ps_options() { return {label_option(), all_owners_option(), ...}; }
#pragma once

#include "cli/command.hpp"

namespace sandbox::cli {

Option label_option();      // -l/--label, selecting
Option all_owners_option();
std::vector<Option> no_options();

} // namespace sandbox::cli
