// SPDX-License-Identifier: Apache-2.0
// What the verbs that take several sessions and change each share: which are meant, and what is said of each.
//
//   return print_changes(call, app::pause_sessions(call.context(), selection_of(call)));
#pragma once

#include "app/lifecycle.hpp"
#include "cli/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::cli {

// By `names`, or by -l. Throws usage where neither or both are given.
app::SessionSelection selection_of(const Invocation& call, std::vector<std::string> names, std::string_view verb);
// Notes and errors on stderr, the document on stdout with --json. Returns the exit status: that of the first error.
int print_changes(Invocation& call, const app::LifecycleReport& report);
int print_failures(const std::vector<app::SessionFailure>& failures);

} // namespace sandbox::cli
