// SPDX-License-Identifier: Apache-2.0
// What docker's own client keeps in its configuration directory: the current context, and contexts.
//
//   if (const std::string name = docker_current_context(); !name.empty()) use(read_docker_context(name));
#pragma once

#include <string>
#include <string_view>

namespace sandbox::engine {

// DOCKER_CONFIG, else ~/.docker; empty where there is no home either.
std::string docker_config_directory();
// currentContext; empty where there is none. Throws usage for a file that is not JSON.
std::string docker_current_context();

struct DockerContext {
    std::string host;         // "tcp://build:2376"; empty: the local default
    std::string certificates; // directory of the TLS files; empty: it has none
    bool skips_verification = false;
};
// contexts/meta/<sha256 of the name>/meta.json, and what lies beside it in contexts/tls. Throws usage for one that is
// missing or malformed.
DockerContext read_docker_context(std::string_view name);

} // namespace sandbox::engine
