// SPDX-License-Identifier: Apache-2.0
// What a manifest brings from the host: environment values and files. References are resolved and opened before the
// first effect, so that a missing file costs nothing; contents go over the channel, never into the container's config.
#pragma once

#include "channel/agent_client.hpp"
#include "domain/manifest.hpp"

namespace sandbox::app {

// Looks up fromEnv and fromFile. Throws manifest_invalid naming the key, never a value.
channel::Environment resolve_environment(const std::map<std::string, domain::EnvValue>& env);
// Throws manifest_invalid for a source that is missing, unreadable or of the wrong kind.
void check_sources(const std::vector<domain::Seed>& seeds);
// Puts every seed into the workspace, directories first.
void plant(const channel::Link& link, const std::vector<domain::Seed>& seeds);

} // namespace sandbox::app
