// SPDX-License-Identifier: Apache-2.0
// What there is to name: sessions, workspaces, owners, files in a session. For completion, so nothing here makes, repairs or
// changes anything, asks an engine for what the state knows, or counts as activity.
//
//   for (const auto& row : live_sessions(context)) std::cout << row.name << '\n';
#pragma once

#include "app/context.hpp"
#include "channel/agent_client.hpp"
#include "channel/managed.hpp"

#include <string>
#include <vector>

namespace sandbox::app {

// The owner's sessions that are not closed and not past their TTL, as the state last knew them.
std::vector<state::SessionRow> live_sessions(Context& context);
std::vector<state::WorkspaceRow> known_workspaces(Context& context);
// Everybody with an open session or a workspace in this state directory.
std::vector<std::string> known_owners(Context& context);
// The managed processes of one of live_sessions(); none for another one. Throws Error when its agent does not answer in time.
std::vector<channel::ManagedProcess> known_processes(Context& context, const std::string& session);
// The names in a directory of one of live_sessions() that begin with `prefix`; none for a session that is not among them. Throws
// Error when its agent does not answer in time.
std::vector<channel::ListedName> list_names(Context& context, const std::string& session, const std::string& directory,
                                            const std::string& prefix);

} // namespace sandbox::app
