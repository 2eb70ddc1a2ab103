// SPDX-License-Identifier: Apache-2.0
// Bodies and queries of API calls, as text. Pure; https://docs.docker.com/reference/api/engine/ names the fields.
//
//   request.body = create_container_body(spec);
#pragma once

#include "engine/client.hpp"

#include <map>
#include <string>
#include <string_view>

namespace sandbox::engine {

// Throw usage where a string is not UTF-8, which JSON cannot carry.
std::string create_container_body(const ContainerSpec& spec);
std::string create_volume_body(std::string_view name, const Labels& labels);
std::string create_network_body(std::string_view name, const std::map<std::string, std::string>& options,
                                const Labels& labels);
std::string create_exec_body(const Client::ExecSpec& spec);
std::string start_exec_body(bool tty);
// The value of `filters=`, not yet percent-encoded. Throws internal when the filter is empty (law 5).
std::string filters_json(const Filter& filter);
// The header X-Registry-Auth's JSON, not yet base64.
struct Credentials {
    std::string username;
    std::string password;
    std::string identity_token;
    std::string server;
};
std::string registry_auth_json(const Credentials& credentials);

} // namespace sandbox::engine
