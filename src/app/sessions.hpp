// SPDX-License-Identifier: Apache-2.0
// Finding sessions by what a person typed, and saying plainly what became of those that are no more.
//
//   const auto row = find_open_session(context.lookup(), context.owner(), "job-981");
#pragma once

#include "app/context.hpp"
#include "channel/agent_client.hpp"
#include "util/error.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sandbox::app {

// When a session's time was over, which is mostly before anybody looks (`seen_ms`); absent where it ended before that, by itself.
std::optional<std::int64_t> expired_ms(const state::SessionRow& row, std::int64_t seen_ms);
// By id, or by exact name within the owner. Throws not_found (with a hint that names --owner where another owner has
// one). The row may be closed.
state::SessionRow find_session(const state::Store& store, const std::string& owner, std::string_view id_or_name);
// The same, but a session that is not usable any more throws session_gone saying what became of it.
state::SessionRow find_open_session(const state::Store& store, const std::string& owner, std::string_view id_or_name);

// A new connection to the agent of a container, through an engine exec of its bridge.
std::unique_ptr<Stream> open_bridge(engine::Client& engine, std::string_view container_id);
// How to reach the session's agent: its socket, or an engine exec.
channel::Link link_to(Context& context, const state::SessionRow& row);
// The same over an engine exec, by a client of the caller's choice, asked for at each new connection.
channel::Link bridge_link(const std::string& session_directory, const state::SessionRow& row, std::function<engine::Client&()> engine);
// Why a session whose agent did not answer cannot be reached, by asking the engine: throws session_gone when its container is gone or stopped,
// session_unreachable otherwise.
[[noreturn]] void explain_unreachable(Context& context, const state::SessionRow& row, const Error& cause);

// Whether an inspected container has stopped and the engine was told to keep it then (lifecycle.autoDestroy: false).
bool is_kept_stopped(const engine::ContainerInfo& container);

// The engine objects of one session, whatever its row knows of them.
engine::Filter session_filter(const state::Store& store, std::string_view session_id);

} // namespace sandbox::app
