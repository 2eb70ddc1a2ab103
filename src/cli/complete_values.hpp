// SPDX-License-Identifier: Apache-2.0
// The values that a shell can offer for a place: from the table, from the state as it lies there (no engine is asked), and, for a
// path in a session, from its agent.
//
//   for (const Candidate& one : values_for(place, context)) ...
#pragma once

#include "app/context.hpp"
#include "cli/complete.hpp"
#include "cli/complete_line.hpp"

#include <vector>

namespace sandbox::cli {

// All of them, not only those that begin with the word. Throws Error where the state or the agent cannot be asked.
std::vector<Candidate> values_for(const Place& place, app::Context& context);
// Which of the host's files may stand there.
Completion::Files files_for(const Place& place);

} // namespace sandbox::cli
