// SPDX-License-Identifier: Apache-2.0
// Finding keys, and helping with the ones that are not there.
#include "domain/manifest_decode.hpp"
#include "domain/shown.hpp"

#include "util/format.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace sandbox::domain {
namespace {

// What other tools call our keys.
struct Synonym {
    std::string_view theirs;
    std::string_view ours;
};
constexpr std::array<Synonym, 16> k_synonyms{{
    {"environment", "env"}, {"ports", "publish"}, {"mem_limit", "limits.memory"}, {"mem", "limits.memory"},
    {"cpu", "limits.cpus"}, {"pids_limit", "limits.pids"}, {"working_dir", "workdir"}, {"cwd", "workdir"},
    {"read_only", "security.readonlyRootfs"}, {"cap_drop", "security.dropCapabilities"},
    {"cap_add", "security.addCapabilities"}, {"network_mode", "network"}, {"pull_policy", "pull"},
    {"dirs", "directories"}, {"volumes", "files"}, {"ttl_seconds", "lifecycle.ttl"},
}};

// The names that may stand in a section.
std::vector<std::string> children_of(std::string_view parent) {
    std::set<std::string> names;
    for (const ManifestKey& key : manifest_keys()) {
        std::string_view path = key.path;
        if (!parent.empty()) {
            if (!path.starts_with(parent) || path.size() <= parent.size() || path[parent.size()] != '.') continue;
            path.remove_prefix(parent.size() + 1);
        }
        names.insert(std::string(path.substr(0, path.find('.'))));
    }
    return {names.begin(), names.end()};
}

// The path of the key or section that is called `name` somewhere else; empty when there is none.
std::string elsewhere(std::string_view name) {
    for (const Synonym& synonym : k_synonyms) {
        if (synonym.theirs == name) return std::string(synonym.ours);
    }
    for (const ManifestKey& key : manifest_keys()) {
        std::string_view path = key.path;
        for (;;) {
            const std::size_t dot = path.rfind('.');
            if (path.substr(dot == std::string_view::npos ? 0 : dot + 1) == name) return std::string(path);
            if (dot == std::string_view::npos) break;
            path = path.substr(0, dot);
        }
    }
    return {};
}

std::string where_it_belongs(std::string_view key, const std::string& path) {
    const std::size_t dot = path.rfind('.');
    const std::string name = path.substr(dot == std::string::npos ? 0 : dot + 1);
    const std::string what = name == key ? formatted("\"{}\"", name) : formatted("it is called \"{}\" and", name);
    if (dot == std::string::npos) return formatted("{} belongs at the top level", what);
    return formatted("{} belongs under \"{}\": {}", what, path.substr(0, dot), path);
}

// The path whose last segment is spelled nearly so: "memroy".
std::string nearly_elsewhere(std::string_view name) {
    std::vector<std::string> names;
    for (const ManifestKey& key : manifest_keys()) names.emplace_back(key.path.substr(key.path.rfind('.') + 1));
    const auto near = nearest(name, names);
    return near ? elsewhere(*near) : std::string();
}

} // namespace

const ManifestKey* find_key(std::string_view path) {
    const auto keys = manifest_keys();
    const auto found = std::find_if(keys.begin(), keys.end(), [&](const ManifestKey& key) { return key.path == path; });
    return found == keys.end() ? nullptr : &*found;
}

bool is_section(std::string_view path) {
    const auto keys = manifest_keys();
    return std::any_of(keys.begin(), keys.end(), [&](const ManifestKey& key) {
        return key.path.starts_with(path) && key.path.size() > path.size() && key.path[path.size()] == '.';
    });
}

const ManifestKey* find_key_of(std::string_view path) {
    if (path == "metadata" || path.starts_with("metadata.")) return find_key("labels");
    if (const ManifestKey* key = find_key(path)) return key;
    const std::string_view top = path.substr(0, path.find('.'));
    const ManifestKey* key = find_key(top);
    if (key == nullptr || (key->type != KeyType::map && key->type != KeyType::list)) return nullptr;
    // A name may have dots of its own: files.run.sh.mode.
    const std::string_view last = path.substr(path.rfind('.') + 1);
    for (const ManifestKey& entry : manifest_entry_keys()) {
        const bool is_below = entry.path.starts_with(formatted("{}.", top)) && entry.path.ends_with(formatted(".{}", last));
        if (is_below && std::count(path.begin(), path.end(), '.') >= 2) return &entry;
    }
    return key->type == KeyType::map ? key : nullptr;
}

std::optional<std::string> nearest_key(std::string_view path) {
    std::vector<std::string> known;
    for (const ManifestKey& key : manifest_keys()) known.emplace_back(key.path);
    if (auto near = nearest(path, known)) return near;
    // "memory" and "limit.memory" are far from "limits.memory" as words, and its last segment all the same.
    const std::string_view last = path.substr(path.rfind('.') == std::string_view::npos ? 0 : path.rfind('.') + 1);
    std::string found = elsewhere(last);
    if (!found.empty()) return found;
    found = nearly_elsewhere(last);
    return found.empty() ? std::nullopt : std::optional(std::move(found));
}

bool is_extension(std::string_view path) {
    const std::string_view top = path.substr(0, path.find('.'));
    return top == "checkpoint" || top == "export" || top == "policy";
}

Error unknown_key(std::string_view parent, std::string_view key, const YamlMark& mark) {
    const auto known = children_of(parent);
    const auto near = nearest(key, known);
    const std::string place = elsewhere(key);
    // An exact name in another place says more than a similar one here.
    if (!place.empty()) {
        return located(mark, formatted("unknown key \"{}\"{}", shown(key),
                                         parent.empty() ? std::string() : formatted(" under \"{}\"", parent)))
            .hint(where_it_belongs(key, place));
    }
    if (const std::string meant = near ? std::string() : nearly_elsewhere(key); !meant.empty()) {
        return located(mark, formatted("unknown key \"{}\"; did you mean \"{}\"?", shown(key), meant)).hint(where_it_belongs(key, meant));
    }
    return located(mark, formatted("unknown key \"{}\"{}", shown(key),
                                     near ? formatted("; did you mean \"{}\"?", *near) : std::string()))
        .hint(near ? std::string() : formatted("here: {}", join(known, ", ")));
}

} // namespace sandbox::domain
