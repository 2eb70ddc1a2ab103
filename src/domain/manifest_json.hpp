// SPDX-License-Identifier: Apache-2.0
// The JSON ends of the manifest, so that one .cpp alone sees the JSON library.
#pragma once

#include "domain/yaml.hpp"

#include <string>
#include <string_view>

namespace sandbox::domain {

// Whether the whole text is one valid JSON document.
bool is_json(std::string_view text);
// A tree as JSON with sorted keys. A plain scalar stands as it is (true, 3), every other one is a string.
std::string tree_to_json(const YamlNode& root);
// The inverse, with `name` standing in errors. Throws manifest_invalid when the text is not JSON.
YamlNodePtr tree_from_json(std::string_view name, std::string_view json);

} // namespace sandbox::domain
