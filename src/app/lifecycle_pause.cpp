// SPDX-License-Identifier: Apache-2.0
#include "app/deadlines.hpp"
#include "app/events.hpp"
#include "app/lifecycle_change.hpp"
#include "app/sessions.hpp"
#include "engine/container_control.hpp"

// The row says nothing of it: the engine alone knows whether a container is frozen, and a crash between two records would leave them apart.
namespace sandbox::app {
namespace {

using state::SessionState;

void require_started(const HeldSession& held, const char* what) {
    if (held.is_started()) return;
    throw Error(ErrorCode::conflict, title_of(held.row) + " is stopped, and cannot be " + what).hint("sandbox start " + held.row.id + " starts it again");
}

ChangedSession pause(Context& context, const HeldSession& held) {
    require_started(held, "paused");
    if (held.is_frozen()) return {held.row, SessionState::paused, false, "it was paused before"};
    engine::ContainerControl(held.engine.endpoint()).pause(held.row.container_id);
    record(context, state::EventKind::paused, held.row, {});
    return {held.row, SessionState::paused, true, {}};
}

// What fell due while the session was frozen waits for this (agent/init.cpp). One that runs is told as well: whoever resumed it may have been
// killed before that.
void tell_thawed(Context& context, const state::SessionRow& row) {
    try {
        tell_agent(context, row);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_unreachable) throw;
        explain_unreachable(context, row, error);
    }
}

ChangedSession resume(Context& context, const HeldSession& held) {
    require_started(held, "resumed");
    if (is_over(held.row)) throw over_error(held.row).hint("sandbox destroy " + held.row.id + " clears it away");
    if (held.is_frozen()) engine::ContainerControl(held.engine.endpoint()).unpause(held.row.container_id);
    tell_thawed(context, held.row);
    if (!held.is_frozen()) return {held.row, SessionState::running, false, "it was not paused"};
    record(context, state::EventKind::resumed, held.row, {});
    return {held.row, SessionState::running, true, {}};
}

} // namespace

LifecycleReport pause_sessions(Context& context, const SessionSelection& selection) {
    return change_each(context, selection, [](Context& own, const state::SessionRow& seen) { return pause(own, hold_session(own, seen)); });
}

LifecycleReport resume_sessions(Context& context, const SessionSelection& selection) {
    return change_each(context, selection, [](Context& own, const state::SessionRow& seen) { return resume(own, hold_session(own, seen)); });
}

} // namespace sandbox::app
