// SPDX-License-Identifier: Apache-2.0
#include "agent/embedded.hpp"

namespace sandbox::agent {

std::optional<EmbeddedAgent> embedded_agent(std::string_view architecture) {
    if (architecture == "amd64") architecture = "x86_64";
    if (architecture == "arm64") architecture = "aarch64";
    for (const EmbeddedAgent& agent : embedded_agents()) {
        if (agent.architecture == architecture) return agent;
    }
    return std::nullopt;
}

} // namespace sandbox::agent
