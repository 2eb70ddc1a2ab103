// SPDX-License-Identifier: Apache-2.0
// Environment variables for which unset and empty mean the same.
//
//   if (const auto url = environment("DOCKER_HOST"); !url.empty()) connect(url);
#pragma once

#include <cstdlib>
#include <string>

namespace sandbox {

// Empty where the variable is not set.
inline std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

} // namespace sandbox
