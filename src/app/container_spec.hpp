// SPDX-License-Identifier: Apache-2.0
// From a manifest to what the engine is asked for: a pure function, so that the defaults that keep a session in can be
// tested without an engine.
//
//   engine.create_container(container_spec({row, manifest, instance, agent_volume, directory, seccomp, network}));
#pragma once

#include "domain/manifest.hpp"
#include "engine/client.hpp"
#include "state/rows.hpp"

#include <string>

namespace sandbox::app {

struct ContainerParts {
    const state::SessionRow& row;
    const domain::Manifest& manifest;
    std::string instance;
    std::string agent_volume;
    std::string channel_directory; // empty: no bind mount, the bridge serves
    std::string seccomp_profile;   // JSON text; empty: the engine's default
    std::string network;           // "none" or the name of our network
    bool workspace_has_data = false; // it is an earlier session's: the image puts nothing into it
};

engine::ContainerSpec container_spec(const ContainerParts& parts);
// The labels of every object of a session (law 2).
engine::Labels session_labels(const state::SessionRow& row, const std::string& instance, const std::string& role);

} // namespace sandbox::app
