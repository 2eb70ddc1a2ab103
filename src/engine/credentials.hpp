// SPDX-License-Identifier: Apache-2.0
// Credentials for registries, as docker's own config file says.
//
//   const std::string header = registry_auth_header("ghcr.io");   // for X-Registry-Auth; empty: none
#pragma once

#include <string>
#include <string_view>

namespace sandbox::engine {

// credHelpers, then credsStore, then auths, like docker. Nothing found is no error; a helper that fails is one, and no
// message holds a secret. Throws usage for a config file that is not JSON.
std::string registry_auth_header(std::string_view registry);

} // namespace sandbox::engine
