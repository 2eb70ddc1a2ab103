// SPDX-License-Identifier: Apache-2.0
// docker's config.json as a value. Includes json.hpp: only for .cpp files of this layer that read JSON.
//
//   const Json config = read_docker_config();
#pragma once

#include "engine/json_fields.hpp"

namespace sandbox::engine {

// An empty object where there is no file. Throws usage for one that is not JSON.
Json read_docker_config();

} // namespace sandbox::engine
