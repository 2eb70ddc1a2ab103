// SPDX-License-Identifier: Apache-2.0
#include "app/selection.hpp"

#include "app/deadlines.hpp"
#include "app/sessions.hpp"
#include "domain/manifest.hpp"

#include <set>

namespace sandbox::app {

namespace {

bool is_kept(const state::SessionRow& row) {
    try {
        return !domain::from_canonical_json(row.manifest_json).lifecycle.auto_destroy;
    } catch (const Error&) {
        return false; // one whose manifest cannot be read is in nobody's way
    }
}

// Nobody has named these: what is not there yet, or not any more, is not among those meant.
bool is_meant(const state::SessionRow& row, Overdue overdue) {
    const bool is_there = row.state != state::SessionState::creating && row.state != state::SessionState::destroying && row.state != state::SessionState::failed;
    if (!is_there || overdue == Overdue::all || !is_over(row)) return is_there;
    return overdue == Overdue::kept && is_kept(row);
}

} // namespace

std::vector<SelectedSession> select_sessions(Context& context, const SessionSelection& selection, std::vector<SessionFailure>& failures) {
    std::vector<SelectedSession> found;
    if (selection.names.empty()) {
        state::Store::Filter filter;
        if (!selection.all_owners) filter.owner = context.owner();
        filter.labels = selection.labels;
        for (auto& row : context.lookup().list(filter)) {
            if (!is_meant(row, selection.overdue)) continue;
            std::string target = row.name.empty() ? row.id : row.name;
            found.push_back({std::move(target), std::move(row)});
        }
        return found;
    }
    std::set<std::string> seen;
    for (const auto& target : selection.names) {
        try {
            auto row = find_session(context.lookup(), context.owner(), target);
            if (seen.insert(row.id).second) found.push_back({target, std::move(row)});
        } catch (const Error& error) {
            failures.push_back({target, error});
        }
    }
    return found;
}

} // namespace sandbox::app
