// SPDX-License-Identifier: Apache-2.0
#include "app/listing.hpp"

#include "app/deadlines.hpp"
#include "app/sessions.hpp"

#include <algorithm>
#include <set>

namespace sandbox::app {
namespace {

constexpr Milliseconds k_listing_deadline{1000};

std::optional<state::SessionRow> live_session(Context& context, const std::string& id_or_name) {
    for (auto& row : live_sessions(context)) {
        if (row.id == id_or_name || row.name == id_or_name) return std::move(row);
    }
    return std::nullopt;
}

} // namespace

std::vector<state::SessionRow> live_sessions(Context& context) {
    const state::Store* store = context.peek();
    if (store == nullptr) return {};
    state::Store::Filter filter;
    filter.owner = context.owner();
    auto rows = store->list(filter);
    std::erase_if(rows, is_over);
    return rows;
}

std::vector<state::WorkspaceRow> known_workspaces(Context& context) {
    const state::Store* store = context.peek();
    return store == nullptr ? std::vector<state::WorkspaceRow>{} : store->list_workspaces(context.owner());
}

std::vector<std::string> known_owners(Context& context) {
    const state::Store* store = context.peek();
    if (store == nullptr) return {};
    std::set<std::string> owners;
    for (auto& row : store->list({})) owners.insert(std::move(row.owner));
    for (auto& row : store->list_workspaces(std::nullopt)) owners.insert(std::move(row.owner));
    return {owners.begin(), owners.end()};
}

std::vector<channel::ManagedProcess> known_processes(Context& context, const std::string& session) {
    const auto row = live_session(context, session);
    if (!row) return {};
    channel::Link link = link_to(context, *row);
    link.on_silence = nullptr; // whoever presses a key does not wait for the engine's word
    return channel::list_processes(link, k_listing_deadline);
}

std::vector<channel::ListedName> list_names(Context& context, const std::string& session, const std::string& directory,
                                            const std::string& prefix) {
    const auto row = live_session(context, session);
    if (!row) return {};
    return channel::list_names(link_to(context, *row), directory, prefix, k_listing_deadline);
}

} // namespace sandbox::app
