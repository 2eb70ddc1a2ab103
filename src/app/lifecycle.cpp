// SPDX-License-Identifier: Apache-2.0
#include "app/interrupt.hpp"
#include "app/lifecycle_change.hpp"
#include "app/session_lock.hpp"
#include "app/sessions.hpp"
#include "app/wall_end.hpp"
#include "app/workers.hpp"
#include "util/text.hpp"

namespace sandbox::app {
namespace {

// As far as it may be changed, under its lock.
state::SessionRow look_up(const state::Store& store, const state::SessionRow& seen) {
    try {
        return find_open_session(store, seen.owner, seen.id);
    } catch (const Error& error) {
        // Taking the lock has brought back the file of one that ended meanwhile.
        const auto now = store.find(seen.id);
        if (!now || state::is_closed(now->state)) store.forget_lock(seen.id);
        throw;
    }
}

} // namespace

LifecycleReport change_each(Context& context, const SessionSelection& selection,
                            const std::function<ChangedSession(Context&, const state::SessionRow&)>& change) {
    struct Result {
        std::optional<ChangedSession> done;
        std::optional<Error> error;
    };
    const Interrupt interrupt;
    LifecycleReport report;
    const auto selected = select_sessions(context, selection, report.failures);
    std::vector<Result> results(selected.size());
    for_each_at_once(context, selected.size(), [&](Context& own, std::size_t i) {
        try {
            results[i].done = change(own, selected[i].row);
        } catch (const Error& error) {
            if (error.signal() != 0) throw;
            results[i].error = error;
        }
    });
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].error) report.failures.push_back({selected[i].target, *results[i].error});
        else report.sessions.push_back(std::move(*results[i].done));
    }
    return report;
}

HeldSession hold_session(Context& context, const state::SessionRow& seen) {
    state::Store& store = context.store();
    // Says what became of it without a lock, whose file would stay.
    find_open_session(store, seen.owner, seen.id);
    FileLock lock = lock_for_change(store, seen);
    state::SessionRow row = look_up(store, seen);
    engine::Client& engine = context.engine_of(row.endpoint, row.engine_id);
    auto container = engine.inspect_container(row.container_id);
    const bool is_there = container && (container->running || container->paused || is_kept_stopped(*container));
    if (!is_there) explain_unreachable(context, row, Error(ErrorCode::session_unreachable, "its container has ended"));
    return {std::move(lock), std::move(row), engine, *std::move(container)};
}

std::string title_of(const state::SessionRow& row) { return "session " + quoted(row.name.empty() ? row.id : row.name); }

Error over_error(const state::SessionRow& row) {
    return Error(ErrorCode::session_gone, title_of(row) + " expired at " + format_rfc3339(wall_end_ms(row)));
}

} // namespace sandbox::app
