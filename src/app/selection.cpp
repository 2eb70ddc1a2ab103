// SPDX-License-Identifier: Apache-2.0
#include "app/selection.hpp"

#include "app/sessions.hpp"

#include <set>

namespace sandbox::app {

std::vector<SelectedSession> select_sessions(Context& context, const SessionSelection& selection, std::vector<SessionFailure>& failures) {
    std::vector<SelectedSession> found;
    if (selection.names.empty()) {
        state::Store::Filter filter;
        if (!selection.all_owners) filter.owner = context.owner();
        filter.labels = selection.labels;
        for (auto& row : context.lookup().list(filter)) {
            // Nobody has named these: what is not there yet, or not any more, is not among those meant.
            const bool is_there = row.state != state::SessionState::creating && row.state != state::SessionState::destroying && row.state != state::SessionState::failed;
            if (!is_there) continue;
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
