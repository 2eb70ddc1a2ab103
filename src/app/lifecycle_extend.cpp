// SPDX-License-Identifier: Apache-2.0
#include "app/deadlines.hpp"
#include "app/events.hpp"
#include "app/lifecycle_change.hpp"
#include "app/sessions.hpp"
#include "app/wall_end.hpp"

namespace sandbox::app {
namespace {

using state::SessionState;

ChangedSession result_of(const HeldSession& held, std::string note) {
    const SessionState state = held.runs() ? SessionState::running : held.is_frozen() ? SessionState::paused : SessionState::stopped;
    return {held.row, state, true, std::move(note)};
}

// The row comes first: between the two, the session ends at the earlier of its ends, by its agent or by gc, and at none that nobody knows.
// When the agent cannot be told, nothing has changed.
void tell_both(Context& context, const HeldSession& held, const state::SessionRow& before) {
    context.store().update(held.row);
    if (!held.runs()) return; // it is told when it runs again
    try {
        tell_agent(context, held.row);
    } catch (const Error& error) {
        context.store().update(before);
        if (error.code() != ErrorCode::session_unreachable) throw;
        explain_unreachable(context, before, error);
    }
}

ChangedSession move_end(Context& context, HeldSession held, Milliseconds ttl) {
    const state::SessionRow before = held.row;
    // One that has stopped and is kept can be given more time and started; a frozen one would only wake to end.
    if (held.is_frozen() && is_over(before)) throw over_error(before).hint("sandbox destroy " + before.id + " clears it away");
    const auto left = time_left_ms(before);
    set_end(held.row, ttl);
    tell_both(context, held, before);
    record(context, state::EventKind::extended, held.row, {{"expiresAt", format_rfc3339(held.row.expires_ms)}});
    const bool is_sooner = left && *left > ttl.count();
    return result_of(held, is_sooner ? "that is sooner than before: its end was " + format_rfc3339(wall_end_ms(before)) : "");
}

ChangedSession renew(Context& context, const HeldSession& held) {
    if (held.is_frozen()) return result_of(held, "it is paused: its idle time begins when it is resumed");
    if (!held.runs()) {
        throw Error(ErrorCode::conflict, title_of(held.row) + " is stopped, and no idle time runs")
            .hint("sandbox start " + held.row.id + " starts it again; sandbox extend " + held.row.id + " 1h moves its end");
    }
    try {
        renew_idle_time(context, held.row);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_unreachable) throw;
        explain_unreachable(context, held.row, error);
    }
    return result_of(held, "");
}

} // namespace

LifecycleReport extend_sessions(Context& context, const SessionSelection& selection, std::optional<Milliseconds> ttl) {
    return change_each(context, selection, [ttl](Context& own, const state::SessionRow& seen) {
        HeldSession held = hold_session(own, seen);
        return ttl ? move_end(own, std::move(held), *ttl) : renew(own, held);
    });
}

} // namespace sandbox::app
