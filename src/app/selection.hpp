// SPDX-License-Identifier: Apache-2.0
// Which sessions a verb means that takes several: by name, by label, or all of an owner.
//
//   for (const SelectedSession& one : select_sessions(context, {.names = {"web"}}, report.failures)) ...
#pragma once

#include "app/context.hpp"
#include "util/error.hpp"

#include <map>
#include <string>
#include <vector>

namespace sandbox::app {

// Sessions whose time is over and that nobody has cleared away, where none are named.
enum class Overdue {
    skip,
    kept, // those alone that are kept when they stop: with more time they start again
    all,
};

struct SessionSelection {
    std::vector<std::string> names{};            // ids or names; none: every open session that the rest leaves
    std::map<std::string, std::string> labels{}; // those that carry all of these
    bool all_owners = false;                     // without names only
    Overdue overdue = Overdue::skip;             // without names only
};

struct SelectedSession {
    std::string target; // as it was named
    state::SessionRow row; // may be closed where it was named
};
struct SessionFailure {
    std::string target; // as it was named
    Error error;
};

// Each session once, in the order of the names. A name that there is no session of goes to `failures`.
std::vector<SelectedSession> select_sessions(Context& context, const SessionSelection& selection, std::vector<SessionFailure>& failures);

} // namespace sandbox::app
