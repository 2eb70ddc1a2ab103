// SPDX-License-Identifier: Apache-2.0
#include "app/listing.hpp"

#include "app/sessions.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <set>

namespace sandbox::app {
namespace {

constexpr Milliseconds k_listing_deadline{1000};

} // namespace

std::vector<state::SessionRow> live_sessions(Context& context) {
    const state::Store* store = context.peek();
    if (store == nullptr) return {};
    state::Store::Filter filter;
    filter.owner = context.owner();
    auto rows = store->list(filter);
    const std::int64_t now = wall_now_ms();
    std::erase_if(rows, [now](const state::SessionRow& row) { return row.expires_ms > 0 && row.expires_ms <= now; });
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

std::vector<channel::ListedName> list_names(Context& context, const std::string& session, const std::string& directory,
                                            const std::string& prefix) {
    const auto rows = live_sessions(context);
    const auto row = std::ranges::find_if(rows, [&](const auto& one) { return one.id == session || one.name == session; });
    if (row == rows.end()) return {};
    return channel::list_names(link_to(context, *row), directory, prefix, k_listing_deadline);
}

} // namespace sandbox::app
