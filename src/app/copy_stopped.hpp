// SPDX-License-Identifier: Apache-2.0
// Copies out of a session whose container no longer runs but is still there: no agent answers, so the engine's archive call gives the
// files. What comes is trusted no more than from a running one, and goes the same way: our decoder, staging, publishing.
//
//   if (is_stopped(context, row)) return get_stopped(context, target, options);
#pragma once

#include "app/context.hpp"
#include "app/copy.hpp"
#include "app/exec.hpp"
#include "channel/agent_client.hpp"

namespace sandbox::app {

// Whether the session's container is there and does not run. Asks the engine.
bool is_stopped(Context& context, const state::SessionRow& row);
// As channel::get_tree and channel::get_archive, with what an engine's archive keeps: no user xattrs, times in seconds, no holes. A path in
// the workdir is confined to it, links on the way included. Throws not_found, denied, session_gone for what was in memory only.
channel::TransferStats get_stopped(Context& context, const ExecTarget& session, const channel::GetOptions& options);
channel::TransferStats get_stopped_archive(Context& context, const ExecTarget& session, const channel::ArchiveGetOptions& options);

} // namespace sandbox::app
