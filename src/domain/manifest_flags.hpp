// SPDX-License-Identifier: Apache-2.0
// Flags and --set as a tree that merges over the documents.
//
//   FlagTree flags;
//   flags.set("env", "LANG=de", "-e");
#pragma once

#include "domain/yaml.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace sandbox::domain {

class FlagTree {
  public:
    FlagTree();
    // The contract is ManifestBuilder::set's.
    void set(std::string_view path, std::string_view value, std::string_view origin);
    const YamlNodePtr& root() const { return m_root; }

  private:
    YamlNodePtr list(const std::string& path, YamlNodePtr added, std::string_view origin);

    YamlNodePtr m_root;
    // The lists given so far and by which flag: the same flag again adds to them, another one starts anew.
    std::map<std::string, std::pair<std::string, YamlNodePtr>> m_lists;
};

} // namespace sandbox::domain
