// SPDX-License-Identifier: Apache-2.0
// The agent's own version, as it says it in its hello.
//
//   message.agent_version = k_agent_version;
#pragma once

#include <string_view>

namespace sandbox::agent {

#ifndef SANDBOX_VERSION
#define SANDBOX_VERSION "unknown"
#endif
inline constexpr std::string_view k_agent_version = SANDBOX_VERSION;

} // namespace sandbox::agent
