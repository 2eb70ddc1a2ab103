// SPDX-License-Identifier: Apache-2.0
// The read-only volume that brings the agent into every container: made and filled once for each engine and agent
// version, and checked before each start.
//
//   const std::string volume = ensure_agent_volume(context, engine, engine.info(), image);
#pragma once

#include "app/context.hpp"

#include <string>

namespace sandbox::app {

inline constexpr const char* k_agent_mount = "/.sandbox";
inline constexpr const char* k_channel_mount = "/.sandbox/channel";
inline constexpr const char* k_agent_path = "/.sandbox/sandbox-agent";

// The volume's name for this version of the agent on an architecture.
std::string agent_volume_name(const std::string& architecture);
// Makes sure the engine's agent volume is there and whole; returns its name. `image` is any image that is there: a container that
// never starts is made from it to fill the volume through. Throws failed for an architecture without an agent.
std::string ensure_agent_volume(Context& context, engine::Client& engine, const engine::EngineInfo& info,
                                const std::string& image);

} // namespace sandbox::app
