// SPDX-License-Identifier: Apache-2.0
// Runs one command in a session. The fast path: a row read without repairs, one connect, frames; the engine is asked
// only when that fails.
//
//   const auto result = exec_in_session(context, "job-981", request, io);
#pragma once

#include "app/context.hpp"
#include "channel/agent_client.hpp"
#include "domain/manifest.hpp"
#include "util/error.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sandbox::app {

struct ExecTarget {
    state::SessionRow row;
    domain::Manifest manifest;
    std::string user{}; // runs as this one, through the engine; empty: as the session's
};
// The open session and its manifest, for the limits that hold for an exec.
ExecTarget open_for_exec(Context& context, std::string_view id_or_name);
// Throws what channel::exec throws, and session_gone or session_unreachable with what the engine knows. Another user's command gets the image's
// and the manifest's environment, but no value that the manifest only refers to: those are in the agent's memory alone.
channel::ExecResult exec_in_session(Context& context, const ExecTarget& target, const channel::ExecRequest& request,
                                    channel::ExecIo& io);
// The exit status of section 3: the command's own, 128+n, 124, 125, 126, 127.
int exec_exit_status(const channel::ExecResult& result);
// What is to be said about an exec that did not end by itself (time-out, OOM, abort, not started); absent otherwise.
std::optional<Error> exec_error(const channel::ExecResult& result, const channel::ExecRequest& request);

} // namespace sandbox::app
