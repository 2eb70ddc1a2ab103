// SPDX-License-Identifier: Apache-2.0
// Persistent workspaces: who may open which volume, and the administrative path for the retained ones.
//
//   const bool is_new = open_workspace(context, engine, engine_id, manifest, row, check, interrupt); ... check_lease(store, engine, row);
#pragma once

#include "app/context.hpp"
#include "app/interrupt.hpp"
#include "domain/manifest.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::app {

// Asked before a session gets a workspace that earlier ones have used; throws denied. Empty: nobody is asked.
// It may take a while, and looks for signals through the interrupt.
using WorkspaceCheck = std::function<void(const state::SessionRow& session, Interrupt& interrupt)>;

// Makes or reopens the volume of a persistent workspace for a session and fills in row.volume; the caller holds the
// workspace's lock. A volume that exists under the name without our labels is never taken: conflict. A known workspace whose volume is missing
// is not_found. Returns true when the volume is new: nobody has been given it yet; confirm_workspace() ends that.
bool open_workspace(Context& context, engine::Client& engine, const std::string& engine_id,
                    const domain::Manifest& manifest, state::SessionRow& row, const WorkspaceCheck& check_reopen, Interrupt& interrupt);
// The volume is there and handed over: from now on it is data, and a missing one an error.
void confirm_workspace(state::Store& store, const state::SessionRow& row);
// Throws busy naming the holder when another container mounts the workspace's volume and either side wants it alone.
void check_lease(const state::Store& store, engine::Client& engine, const state::SessionRow& row);

struct WorkspaceView {
    state::WorkspaceRow row;
    std::optional<bool> exists;        // absent: the engine did not answer
    std::vector<std::string> sessions; // ids that mount it now
};
std::vector<WorkspaceView> list_workspaces(Context& context, const std::optional<std::string>& owner,
                                           const std::map<std::string, std::string>& labels);
WorkspaceView inspect_workspace(Context& context, const std::string& owner, std::string_view id);
// Deletes volume and row for good. Throws busy while a container mounts it, not_found when there is none.
void remove_workspace(Context& context, const std::string& owner, std::string_view id);
// The same for one that nobody was given: false when it was by now, or somebody is about to be.
bool remove_half_made_workspace(Context& context, const std::string& owner, std::string_view id);
// Whether another session may have used its workspace since this one was made, whichever of them was made first: one that is open, or
// was closed later than that. The caller holds the workspace's lock.
bool was_used_since(const state::Store& store, const state::SessionRow& row);
// Whether another session that shares it is open: the last one of them takes it along, if it is to.
bool is_used_by_another(const state::Store& store, const state::SessionRow& row);
// Its volume, if that is still the one that was made for it: throws conflict for another of its name. The caller holds the lock.
void remove_workspace_volume(const state::Store& store, engine::Client& engine, const state::WorkspaceRow& workspace);

} // namespace sandbox::app
