// SPDX-License-Identifier: Apache-2.0
// What is in force, key by key, and who said so.
//
//   for (const auto& value : effective_values(*root, manifest)) ...
#pragma once

#include "domain/manifest.hpp"
#include "domain/yaml.hpp"

#include <vector>

namespace sandbox::domain {

// `root` is the merged tree that `manifest` was decoded from. The contract is ManifestBuilder::values'.
std::vector<EffectiveValue> effective_values(const YamlNode& root, const Manifest& manifest);
// "m.yaml:3", "--memory".
std::string origin_of(const YamlMark& mark);

} // namespace sandbox::domain
