// SPDX-License-Identifier: Apache-2.0
// What the changes of lifecycle.hpp share: several sessions at a time, one session under its lock.
//
//   return change_each(context, selection, [](Context& own, const state::SessionRow& seen) { ... });
#pragma once

#include "app/lifecycle.hpp"
#include "util/fs.hpp"

#include <functional>
#include <string>

namespace sandbox::app {

// INT, TERM and HUP wait until each session's change is whole.
LifecycleReport change_each(Context& context, const SessionSelection& selection,
                            const std::function<ChangedSession(Context& own, const state::SessionRow& seen)>& change);

// A session that nobody else changes meanwhile, as its row and its engine have it now.
struct HeldSession {
    FileLock lock;
    state::SessionRow row;
    engine::Client& engine;
    engine::ContainerInfo container;

    // Podman does not call a frozen one running.
    bool is_started() const { return container.running || container.paused; }
    bool is_frozen() const { return container.paused; }
    bool runs() const { return container.running && !container.paused; }
};
// Throws session_gone for one that is no more (a container that has ended and is not kept included), busy, engine_unreachable.
HeldSession hold_session(Context& context, const state::SessionRow& seen);

std::string title_of(const state::SessionRow& row); // session "web"
// session_gone: its time is over.
Error over_error(const state::SessionRow& row);

} // namespace sandbox::app
