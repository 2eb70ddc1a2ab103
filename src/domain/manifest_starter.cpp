// SPDX-License-Identifier: Apache-2.0
#include "domain/manifest_starter.hpp"

#include "domain/manifest_keys.hpp"
#include "util/format.hpp"

#include <algorithm>
#include <array>

namespace sandbox::domain {
namespace {

// What is in force as written; everything else stands there as a comment. The values are the table's examples, so that
// they are tested with it.
constexpr std::array<std::string_view, 5> k_given{"version", "image", "limits.timeout", "limits.memory", "lifecycle.ttl"};
// Sections of verbs and surfaces that a first manifest does not need.
constexpr std::array<std::string_view, 3> k_later{"checkpoint", "export", "policy"};

bool holds(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

// Two columns: what is written, and what it means.
std::string line(std::string_view written, const ManifestKey& key) {
    const std::string what = formatted("{}{}", key.summary,
                                       key.default_text.empty() ? std::string() : formatted(" [{}]", key.default_text));
    if (written.size() > 40) return formatted("# {}\n{}\n", what, written);
    return formatted("{:<40} # {}\n", written, what);
}

// Inside of a section that has a key in force, a comment stands at the key's own depth.
std::string written(const ManifestKey& key, bool section_given) {
    const std::size_t dot = key.path.rfind('.');
    const std::string_view indent = dot == std::string_view::npos ? "" : "  ";
    const std::string pair = formatted("{}: {}", key.path.substr(dot == std::string_view::npos ? 0 : dot + 1), key.example);
    if (holds(k_given, key.path)) return formatted("{}{}", indent, pair);
    return section_given ? formatted("{}# {}", indent, pair) : formatted("# {}{}", indent, pair);
}

} // namespace

std::string starter_manifest(std::string_view schema) {
    std::string text = formatted("# yaml-language-server: $schema={}\n"
                                 "#\n"
                                 "# What a session is made of: sandbox create -f FILE.\n"
                                 "# `sandbox manifest explain KEY` says more about each key, `sandbox manifest check FILE` checks it.\n\n",
                                 schema);
    std::string_view section;
    bool section_given = false;
    for (const ManifestKey& key : manifest_keys()) {
        const std::size_t dot = key.path.find('.');
        const std::string_view top = key.path.substr(0, dot);
        if (holds(k_later, top)) continue;
        if (dot != std::string_view::npos && top == "workspace") continue; // its name alone is enough to start with
        if (dot != std::string_view::npos && top != section) {
            section_given = std::ranges::any_of(k_given, [&](std::string_view given) { return given.starts_with(formatted("{}.", top)); });
            text += formatted("\n{}{}:\n", section_given ? "" : "# ", top);
        } else if (dot == std::string_view::npos && !section.empty()) {
            text += "\n";
        }
        section = dot == std::string_view::npos ? std::string_view() : top;
        text += line(written(key, section.empty() ? false : section_given), key);
    }
    return text;
}

} // namespace sandbox::domain
