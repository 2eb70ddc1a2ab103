// SPDX-License-Identifier: Apache-2.0
// What nothing may exceed, from the `ceilings:` of one or more config files: all of them hold, so the tighter one wins.
//
//   ceilings.add(section);                             // throws manifest_invalid with the place
//   tree = merge_trees(ceilings.lowered(), tree);      // a built-in default above a ceiling comes down to it
//   ceilings.check(*tree, decode_manifest(*tree, {})); // throws denied: what was asked for and is too much
#pragma once

#include "domain/manifest.hpp"
#include "domain/manifest_field.hpp"
#include "domain/yaml.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sandbox::domain {

class Ceilings {
  public:
    // `section` is the map below `ceilings:` of one file.
    void add(const YamlNode& section);
    // The ceilings that a built-in default exceeds, as a manifest's tree.
    YamlNodePtr lowered() const;
    // `root` is the tree that `manifest` was decoded from. Throws denied, saying where both values stand.
    void check(const YamlNode& root, const Manifest& manifest) const;
    const Capacity& capacity() const { return m_capacity; }
    // All of them, for people to see.
    std::vector<EffectiveValue> list() const;

  private:
    struct Ceiling {
        const ManifestKey* key;
        YamlNodePtr value; // canonical
        YamlMark mark;
    };
    void add_count(const Field& field, std::optional<CapacityLimit>& limit);

    std::vector<Ceiling> m_ceilings;
    Capacity m_capacity;
};

} // namespace sandbox::domain
