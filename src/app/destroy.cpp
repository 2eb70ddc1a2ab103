// SPDX-License-Identifier: Apache-2.0
#include "app/destroy.hpp"

#include "app/session_lock.hpp"
#include "app/sessions.hpp"
#include "app/teardown.hpp"
#include "app/workers.hpp"
#include "util/text.hpp"

#include <set>

namespace sandbox::app {
namespace {

DestroyedSession destroy_one(Context& context, const state::SessionRow& found) {
    if (state::is_closed(found.state)) return {found.id, found.name, true};
    state::Store& store = context.store();
    const FileLock lock = lock_for_change(store, found);
    const auto row = store.find(found.id);
    if (!row || state::is_closed(row->state)) {
        store.forget_lock(found.id);
        return {found.id, found.name, true};
    }
    const auto left = tear_down(context, *row, {state::SessionState::destroyed, "destroyed by " + context.owner()});
    if (left.empty()) return {found.id, found.name, false};
    throw left_error(left).hint("sandbox gc tries again");
}

// What was named, and what became of it.
struct Named {
    std::string target;
    state::SessionRow row;
    std::optional<DestroyedSession> destroyed;
    std::optional<Error> error;
};

std::vector<std::string> selected_ids(Context& context, const DestroySelection& selection) {
    state::Store::Filter filter;
    if (!selection.all_owners) filter.owner = context.owner();
    filter.labels = selection.labels;
    std::vector<std::string> ids;
    for (const auto& row : context.store().list(filter)) ids.push_back(row.id);
    return ids;
}

} // namespace

DestroyReport destroy_sessions(Context& context, const DestroySelection& selection) {
    context.use_reserve();
    take_overdue(context);
    const bool by_scope = selection.all || !selection.labels.empty();
    const auto targets = by_scope ? selected_ids(context, selection) : selection.names;
    DestroyReport report;
    std::vector<Named> found;
    std::set<std::string> seen;
    for (const auto& target : targets) {
        try {
            // An id selected over all owners is looked up as what it is; a name always within the owner.
            const auto by_id = by_scope ? context.store().find(target) : std::nullopt;
            const auto row = by_id ? *by_id : find_session(context.store(), context.owner(), target);
            if (seen.insert(row.id).second) found.push_back({target, row, {}, {}});
        } catch (const Error& error) {
            if (selection.ignore_missing && error.code() == ErrorCode::not_found) continue;
            report.failures.push_back({target, error});
        }
    }
    for_each_at_once(context, found.size(), [&](Context& own, std::size_t i) {
        try {
            found[i].destroyed = destroy_one(own, found[i].row);
        } catch (const Error& error) {
            found[i].error = error;
        }
    });
    for (auto& one : found) {
        if (one.error) report.failures.push_back({one.target, *one.error});
        else report.destroyed.push_back(*one.destroyed);
    }
    return report;
}

} // namespace sandbox::app
