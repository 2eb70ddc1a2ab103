// SPDX-License-Identifier: Apache-2.0
// `sandbox-agent bridge`: what an engine exec runs where the host cannot reach the agent's socket. Carries bytes between
// its stdin and stdout and the agent, and knows nothing of what they mean.
//
//   return run_bridge(k_bridge_name);
#pragma once

#include <string_view>

#include "util/fd.hpp"

namespace sandbox::agent {

// The agent's abstract socket, in the container's own network namespace.
inline constexpr std::string_view k_bridge_name = "sandbox-agent";

// Listens on it; no descriptor when the name is taken.
Fd listen_abstract(std::string_view name);
// Between standard input and output and a socket, until that ends. False where it has not ended `patience_ms` after standard input has; negative:
// it is waited for. Throws Error.
bool carry_frames(int socket, int patience_ms = -1);
// The exit status: 0 when the agent ended the connection, 1 when there is no agent.
int run_bridge(std::string_view name);

} // namespace sandbox::agent
