// SPDX-License-Identifier: Apache-2.0
#include "app/events.hpp"
#include "app/lifecycle_change.hpp"

namespace sandbox::app {
namespace {

using state::SessionState;

constexpr std::chrono::seconds k_engine_grace{15}; // the agent's own grace for what runs ends well before

void require_kept(const state::SessionRow& row) {
    if (!domain::from_canonical_json(row.manifest_json).lifecycle.auto_destroy) return;
    throw Error(ErrorCode::conflict, title_of(row) + " goes when it stops (lifecycle.autoDestroy is true), so that there would be nothing to start again")
        .hint("sandbox pause " + row.id + " keeps it as it is, sandbox destroy " + row.id + " ends it; create --auto-destroy=false makes sessions that can be stopped");
}

// Row before effect, as everywhere: one that says stopped of what still runs is put right by the next stop or start.
ChangedSession stop(Context& context, HeldSession held) {
    require_kept(held.row);
    const SessionState before = held.row.state;
    held.row.state = SessionState::stopped;
    context.store().update(held.row);
    if (!held.is_started()) return {held.row, SessionState::stopped, false, "it had stopped before"};
    try {
        held.engine.stop_container(held.row.container_id, k_engine_grace);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::engine_unreachable) throw; // it may have stopped
        held.row.state = before;
        context.store().update(held.row);
        throw;
    }
    record(context, state::EventKind::stopped, held.row, {{"reason", "stopped by " + context.owner()}});
    return {held.row, SessionState::stopped, true, {}};
}

} // namespace

LifecycleReport stop_sessions(Context& context, const SessionSelection& selection) {
    return change_each(context, selection, [](Context& own, const state::SessionRow& seen) { return stop(own, hold_session(own, seen)); });
}

} // namespace sandbox::app
