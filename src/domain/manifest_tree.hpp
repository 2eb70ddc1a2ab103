// SPDX-License-Identifier: Apache-2.0
// Trees of several documents and flags, brought to one form and merged: maps merge, everything else replaces.
#pragma once

#include "domain/yaml.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

// One spelling for what may be written in two: metadata is labels, a workspace's name alone is its map, and
// network: false is none. Throws when the root is not a map.
YamlNodePtr normalise_manifest(const YamlNodePtr& root);
// `over` on top of `base`; `path` is theirs ("" for the root).
YamlNodePtr merge_trees(const YamlNodePtr& base, const YamlNodePtr& over, const std::string& path = {});

// The parts that flags are made from.
YamlNodePtr make_scalar(const YamlMark& mark, std::string text);
YamlNodePtr make_list(const YamlMark& mark, std::vector<YamlNodePtr> items);
YamlNodePtr make_map(const YamlMark& mark, std::string key, YamlNodePtr value);
// The tree that has `value` at `path`, whose segments are separated by dots.
YamlNodePtr make_path(const YamlMark& mark, std::string_view path, YamlNodePtr value);

} // namespace sandbox::domain
