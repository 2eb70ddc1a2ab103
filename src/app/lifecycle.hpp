// SPDX-License-Identifier: Apache-2.0
// What changes a session that goes on living: its end, whether it is frozen, whether it runs. Each change is made under the session's lock, and
// each leaves what the next command, or gc, can go on from when it is killed half-way.
//
//   const LifecycleReport report = pause_sessions(context, {.names = {"web"}});
#pragma once

#include "app/selection.hpp"
#include "app/seeding.hpp"
#include "util/time.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sandbox::app {

struct ChangedSession {
    state::SessionRow row;
    state::SessionState state = state::SessionState::running; // what it is now
    bool changed = true; // false: it was so before
    std::string note;    // what a person should know all the same; empty: nothing
};
struct LifecycleReport {
    std::vector<ChangedSession> sessions;
    std::vector<SessionFailure> failures;
};

// All go on with the rest when one session fails, and throw only what concerns the whole call.

// Moves the end to `ttl` from now, sooner or later than it was, and renews the idle time; without `ttl` only the latter.
LifecycleReport extend_sessions(Context& context, const SessionSelection& selection, std::optional<Milliseconds> ttl);
// The engine's freezer. The deadlines of a paused session go on: one that is over is ended by the next create, destroy or gc.
LifecycleReport pause_sessions(Context& context, const SessionSelection& selection);
// Tells the agent what has become of its deadlines meanwhile. Not for one whose end has come.
LifecycleReport resume_sessions(Context& context, const SessionSelection& selection);
// Ends everything in sessions that are kept then (lifecycle.autoDestroy: false): conflict for others.
LifecycleReport stop_sessions(Context& context, const SessionSelection& selection);
// Starts what has stopped and is kept, with the same end and the environment resolved anew. `roots` as for create, beside the directories that
// the manifest's files of values lie in.
LifecycleReport start_sessions(Context& context, const SessionSelection& selection, const HostRoots& roots);

} // namespace sandbox::app
