// SPDX-License-Identifier: Apache-2.0
// The agent programs that this binary carries, one for each architecture it was built for.
//
//   const auto agent = embedded_agent("x86_64");   // the engine's architecture, as uname -m says it
//   volume = "sandbox-agent-" + std::string(agent->digest.substr(0, 12));
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace sandbox::agent {

struct EmbeddedAgent {
    std::string_view architecture; // x86_64, aarch64
    std::string_view content;      // the static ELF program
    std::string_view digest;       // SHA-256 of the content, 64 hex digits
};

std::span<const EmbeddedAgent> embedded_agents();
// Takes the engine's spellings too (amd64, arm64). Absent when this build has none for it.
std::optional<EmbeddedAgent> embedded_agent(std::string_view architecture);

} // namespace sandbox::agent
