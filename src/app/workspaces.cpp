// SPDX-License-Identifier: Apache-2.0
#include "app/workspaces.hpp"

#include "domain/labels.hpp"
#include "domain/names.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>

namespace sandbox::app {
namespace {

using state::WorkspaceRow;

engine::Labels workspace_labels(const state::Store& store, const WorkspaceRow& workspace) {
    engine::Labels labels{{domain::k_label_instance, store.instance()},
                          {domain::k_label_owner, workspace.owner},
                          {domain::k_label_role, domain::k_role_workspace},
                          {domain::k_label_workspace, workspace.id},
                          {domain::k_label_created, format_rfc3339(workspace.created_ms)},
                          {domain::k_label_expires, domain::k_expires_never}};
    for (const auto& [key, value] : workspace.labels) labels[domain::k_label_user_prefix + key] = value;
    return labels;
}

bool carries(const engine::VolumeInfo& volume, const std::string& key, const std::string& value) {
    const auto label = volume.labels.find(key);
    return label != volume.labels.end() && label->second == value;
}

void check_is_ours(const state::Store& store, const engine::VolumeInfo& volume, const WorkspaceRow& workspace) {
    if (carries(volume, domain::k_label_instance, store.instance()) &&
        carries(volume, domain::k_label_owner, workspace.owner) &&
        carries(volume, domain::k_label_workspace, workspace.id)) {
        return;
    }
    throw Error(ErrorCode::conflict, "volume " + volume.name + " exists and is not workspace " + quoted(workspace.id) + " of this owner and instance")
        .hint("remove or rename that volume; sandbox never takes over what it did not make");
}

WorkspaceRow new_workspace(const state::Store& store, const std::string& engine_id, const state::SessionRow& session) {
    WorkspaceRow workspace;
    workspace.owner = session.owner;
    workspace.id = session.workspace_id;
    workspace.volume = domain::workspace_object_name(store.instance(), session.owner, session.workspace_id);
    workspace.endpoint = session.endpoint;
    workspace.engine_id = engine_id;
    workspace.labels = session.labels;
    workspace.created_ms = wall_now_ms();
    return workspace;
}

engine::Filter mounting(const std::string& volume) {
    engine::Filter filter;
    filter.volume = volume;
    return filter;
}

std::string holder(const engine::ContainerInfo& container) {
    const std::string session = domain::label(container.labels, domain::k_label_session);
    return printable(session.empty() ? "container " + container.name : "session " + session);
}

bool matches(const WorkspaceRow& workspace, const std::map<std::string, std::string>& labels) {
    for (const auto& [key, value] : labels) {
        const auto found = workspace.labels.find(key);
        if (found == workspace.labels.end() || found->second != value) return false;
    }
    return true;
}

WorkspaceView view_of(Context& context, const WorkspaceRow& workspace) {
    WorkspaceView view{workspace, std::nullopt, {}};
    try {
        auto& engine = context.engine_of(workspace.endpoint, workspace.engine_id);
        view.exists = engine.inspect_volume(workspace.volume).has_value();
        for (const auto& container : engine.list_containers(mounting(workspace.volume))) {
            const std::string session = domain::label(container.labels, domain::k_label_session);
            view.sessions.push_back(session.empty() ? container.name : session);
        }
    } catch (const Error& error) {
        if (error.code() != ErrorCode::engine_unreachable) throw;
    }
    return view;
}

// A create has its row before it asks for the workspace's lock.
bool is_named_by_a_session(const state::Store& store, const WorkspaceRow& workspace) {
    const auto rows = store.list({.owner = workspace.owner, .labels = {}, .include_closed = false});
    return std::ranges::find(rows, workspace.id, &state::SessionRow::workspace_id) != rows.end();
}

WorkspaceRow require_workspace(const state::Store& store, const std::string& owner, std::string_view id) {
    const auto workspace = store.find_workspace(owner, id);
    if (workspace) return *workspace;
    throw Error(ErrorCode::not_found,
                "no workspace " + quoted(id) + " of owner " + quoted(owner))
        .hint("sandbox workspace ls lists them; a workspace belongs to the owner that made it first");
}

} // namespace

bool open_workspace(Context& context, engine::Client& engine, const std::string& engine_id,
                    const domain::Manifest& manifest, state::SessionRow& row, const WorkspaceCheck& check_reopen, Interrupt& interrupt) {
    state::Store& store = context.store();
    const auto known = store.find_workspace(row.owner, row.workspace_id);
    if (known && known->engine_id != engine_id) {
        throw Error(ErrorCode::conflict, "workspace " + quoted(row.workspace_id) + " lives on another engine, " +
                                             known->endpoint)
            .hint("use --engine " + known->endpoint);
    }
    WorkspaceRow workspace = known ? *known : new_workspace(store, engine_id, row);
    row.volume = workspace.volume;
    const auto volume = engine.inspect_volume(workspace.volume);
    if (volume) check_is_ours(store, *volume, workspace);
    // A row comes before its volume and goes after it, so this one's was lost with the state: what is in it is somebody's data (law 2).
    if (!known && volume) workspace.confirmed = true;
    const bool is_known = workspace.confirmed;
    if (!is_known && !manifest.workspace.create) {
        throw Error(ErrorCode::not_found, "workspace " + quoted(row.workspace_id) + " does not exist")
            .hint("workspace.create is false; set it to true to make a new one");
    }
    if (is_known && !volume) {
        throw Error(ErrorCode::not_found, "the volume of workspace " + quoted(row.workspace_id) + " (" +
                                              workspace.volume + ") is missing from the engine")
            .hint("docker volume prune takes volumes that nothing mounts; sandbox workspace rm " + row.workspace_id +
                  " forgets it, and the next create makes an empty one");
    }
    if (is_known && check_reopen) check_reopen(row, interrupt);
    // The row before the effect.
    workspace.last_used_ms = wall_now_ms();
    store.put(workspace);
    if (!volume) engine.create_volume(workspace.volume, workspace_labels(store, workspace));
    return !workspace.confirmed;
}

void confirm_workspace(state::Store& store, const state::SessionRow& row) {
    auto workspace = store.find_workspace(row.owner, row.workspace_id);
    if (!workspace || workspace->confirmed) return;
    workspace->confirmed = true;
    store.put(*workspace);
}

void check_lease(const state::Store& store, engine::Client& engine, const state::SessionRow& row) {
    // The name that only a session which wants the workspace for itself gives its container.
    const std::string exclusive = domain::workspace_object_name(store.instance(), row.owner, row.workspace_id);
    for (const auto& container : engine.list_containers(mounting(row.volume))) {
        if (container.id == row.container_id) continue;
        const bool is_session = domain::label(container.labels, domain::k_label_role) == domain::k_role_session;
        if (is_session && !row.exclusive && container.name != exclusive) continue;
        throw Error(ErrorCode::busy, "workspace " + quoted(row.workspace_id) + " is in use by " + holder(container))
            .hint("destroy that session first, or make both sessions shared: true");
    }
}

std::vector<WorkspaceView> list_workspaces(Context& context, const std::optional<std::string>& owner,
                                           const std::map<std::string, std::string>& labels) {
    std::vector<WorkspaceView> views;
    for (const auto& workspace : context.lookup().list_workspaces(owner)) {
        if (matches(workspace, labels)) views.push_back(view_of(context, workspace));
    }
    return views;
}

WorkspaceView inspect_workspace(Context& context, const std::string& owner, std::string_view id) {
    return view_of(context, require_workspace(context.lookup(), owner, id));
}

void remove_workspace(Context& context, const std::string& owner, std::string_view id) {
    state::Store& store = context.store();
    const auto lock = store.lock_workspace(owner, id);
    const auto workspace = require_workspace(store, owner, id);
    auto& engine = context.engine_of(workspace.endpoint, workspace.engine_id);
    for (const auto& container : engine.list_containers(mounting(workspace.volume))) {
        throw Error(ErrorCode::busy, "workspace " + quoted(id) + " is in use by " + holder(container))
            .hint("destroy the session that holds it first");
    }
    remove_workspace_volume(store, engine, workspace);
    store.erase_workspace(owner, id);
}

bool remove_half_made_workspace(Context& context, const std::string& owner, std::string_view id) {
    state::Store& store = context.store();
    const auto lock = store.lock_workspace(owner, id);
    const auto workspace = store.find_workspace(owner, id);
    if (!workspace || workspace->confirmed || is_named_by_a_session(store, *workspace)) return false;
    auto& engine = context.engine_of(workspace->endpoint, workspace->engine_id);
    if (!engine.list_containers(mounting(workspace->volume)).empty()) return false;
    remove_workspace_volume(store, engine, *workspace);
    store.erase_workspace(owner, id);
    return true;
}

bool was_used_since(const state::Store& store, const state::SessionRow& row) {
    const auto rows = store.list({.owner = row.owner, .labels = {}, .include_closed = true});
    return std::ranges::any_of(rows, [&](const state::SessionRow& other) {
        const bool has_lived_since = !state::is_closed(other.state) || other.closed_ms > row.created_ms;
        return other.id != row.id && other.workspace_id == row.workspace_id && has_lived_since;
    });
}

bool is_used_by_another(const state::Store& store, const state::SessionRow& row) {
    const auto rows = store.list({.owner = row.owner, .labels = {}, .include_closed = false});
    return std::ranges::any_of(rows, [&](const state::SessionRow& other) {
        return other.id != row.id && other.workspace_id == row.workspace_id && other.state != state::SessionState::lost;
    });
}

void remove_workspace_volume(const state::Store& store, engine::Client& engine, const state::WorkspaceRow& workspace) {
    const auto volume = engine.inspect_volume(workspace.volume);
    if (!volume) return;
    check_is_ours(store, *volume, workspace);
    engine.remove_volume(workspace.volume);
}

} // namespace sandbox::app
