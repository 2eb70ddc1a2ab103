// SPDX-License-Identifier: Apache-2.0
// The one way a session ends: destroy, gc, and the roll-back of a failed create all come here. It finds the session's
// objects by their labels, so it finishes what any earlier attempt left at any point, and it never touches another session's.
//
//   const auto left = tear_down(context, row, {state::SessionState::destroyed, "destroyed by uid:0"});
#pragma once

#include "app/context.hpp"
#include "util/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::app {

inline constexpr const char* k_ended_by_itself =
    "its container had ended: idle time-out, a crash, or an engine restart";

struct Ending {
    state::SessionState closed_as = state::SessionState::destroyed;
    std::string reason;
    bool forget = false; // leave no tombstone: the session never came to be
    bool keep_workspace = false; // whatever its manifest says: whoever makes it end wants what is in it
};

// Something that should be gone and is not.
struct Left {
    std::string what;
    std::string error;
};

// Removes container, volumes, directory and row of one session; the caller holds the session's lock. Returns what is
// left; the row is closed only when that is nothing. Throws engine_unreachable, changing nothing, when the engine that
// made the session does not answer.
std::vector<Left> tear_down(Context& context, state::SessionRow row, const Ending& ending);

// What is left as one cleanup_failed error.
Error left_error(const std::vector<Left>& left);

// Clears a session that runs no more (idle time-out, crash, engine restart) out of the way of a new one that wants its
// name or its workspace.
enum class Cleared {
    yes,
    no,   // it runs, or something of it cannot be removed
    busy, // somebody works on it: makes it, or ends it
};
// The workspace that the new one wants, if any, stays with all that is in it.
Cleared clear_if_ended(Context& context, const state::SessionRow& row, std::string_view wanted_workspace);

// Ends a bounded number of sessions past their TTL, or whose `run` was killed; what create, destroy and gc take along (law 9). Failures are left
// for gc to report.
void take_overdue(Context& context);

} // namespace sandbox::app
