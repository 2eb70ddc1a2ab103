// SPDX-License-Identifier: Apache-2.0
// Whether a listed object really fits a filter. Engines match names as patterns and volumes also by their mount points,
// and one that ignored a filter would hand over everybody's objects.
//
//   std::erase_if(list, [&](const VolumeInfo& volume) { return !matches(filter, volume); });
#pragma once

#include "engine/client.hpp"

namespace sandbox::engine {

bool matches(const Filter& filter, const ContainerInfo& container);
bool matches(const Filter& filter, const VolumeInfo& volume);

} // namespace sandbox::engine
