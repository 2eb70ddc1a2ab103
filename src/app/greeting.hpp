// SPDX-License-Identifier: Apache-2.0
// The hand-shake with the agent of a container that was just started, for the first time or again.
//
//   std::optional<channel::HelloListener> listener(directory); engine.start_container(id);
//   const Greeting greeting = greet_agent(context, engine, row, listener, setup, false);
#pragma once

#include "app/context.hpp"
#include "channel/agent_client.hpp"

#include <optional>

namespace sandbox::app {

struct Greeting {
    channel::Hello hello;
    state::ChannelKind channel; // which way it went
};
// Over the session's socket where there is a listener, or where no hello comes through an engine exec, unless only the socket will do. Gives the
// session a new secret, which is kept before it is told. Throws session_unreachable, and failed where the container has ended.
Greeting greet_agent(Context& context, engine::Client& engine, const state::SessionRow& row, std::optional<channel::HelloListener>& listener,
                     channel::SessionSetup& setup, bool only_socket);

} // namespace sandbox::app
