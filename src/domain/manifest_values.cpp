// SPDX-License-Identifier: Apache-2.0
#include "domain/manifest_values.hpp"

#include "domain/manifest_decode.hpp"
#include "domain/manifest_json.hpp"
#include "util/format.hpp"

#include <map>
#include <set>

namespace sandbox::domain {
namespace {

using Kind = YamlNode::Kind;

// A literal may be a secret, so that no value of the environment is shown.
std::string env_text(const YamlNode& node) {
    return node.is(Kind::map) && node.find("base64") == nullptr ? tree_to_json(node) : "(literal)";
}

std::string text_of(const YamlNode& node) {
    return node.is(Kind::scalar) ? node.text : tree_to_json(node);
}

// The value that was written, where there is one: its own mark tells which of the merged sources it is from.
std::string written_at(const YamlNode& root, std::string_view path) {
    const YamlNode::Entry* entry = find_path(root, path);
    return entry == nullptr || entry->value->is(Kind::null) ? std::string() : origin_of(entry->mark);
}

void add_entries(std::vector<EffectiveValue>& values, const YamlNode& root, const ManifestKey& key, const YamlNode& map) {
    const YamlNode::Entry* written = find_path(root, key.path);
    for (const auto& entry : map.entries) {
        // Paths may have been normalised on the way; then the map's own place has to do.
        const auto* own = written == nullptr ? nullptr : written->value->find(entry.key);
        values.push_back({formatted("{}.{}", key.path, entry.key),
                          key.path == "env" ? env_text(*entry.value) : text_of(*entry.value),
                          own != nullptr ? origin_of(own->mark) : written_at(root, key.path)});
    }
}

// Everything that a canonical tree says, a line a key and an entry.
std::map<std::string, std::string> flattened(const Manifest& manifest) {
    const YamlNodePtr now = tree_from_json("manifest", to_canonical_json(manifest));
    std::map<std::string, std::string> all;
    for (const ManifestKey& key : manifest_keys()) {
        const YamlNode::Entry* entry = is_section(key.path) ? nullptr : find_path(*now, key.path);
        if (entry == nullptr) continue;
        if (key.type != KeyType::map) all[std::string(key.path)] = text_of(*entry->value);
        else for (const auto& inner : entry->value->entries) all[formatted("{}.{}", key.path, inner.key)] = text_of(*inner.value);
    }
    return all;
}

} // namespace

std::vector<Difference> differences(const Manifest& theirs, const Manifest& ours) {
    const auto a = flattened(theirs);
    const auto b = flattened(ours);
    std::set<std::string> paths;
    for (const auto& [path, value] : a) paths.insert(path);
    for (const auto& [path, value] : b) paths.insert(path);
    std::vector<Difference> found;
    for (const auto& path : paths) {
        const auto in_a = a.find(path);
        const auto in_b = b.find(path);
        if (in_a != a.end() && in_b != b.end() && in_a->second == in_b->second) continue;
        const bool is_secret = path.starts_with("env.");
        const auto shown_value = [&](const auto& at, const auto& all) {
            return at == all.end() || is_secret ? std::string() : at->second;
        };
        found.push_back({path, shown_value(in_a, a), shown_value(in_b, b)});
    }
    return found;
}

std::string origin_of(const YamlMark& mark) {
    if (mark.source == nullptr) return {};
    if (mark.source->origin != YamlOrigin::document) return mark.source->name;
    return formatted("{}:{}", mark.source->name, mark.line + 1);
}

std::vector<EffectiveValue> effective_values(const YamlNode& root, const Manifest& manifest) {
    const YamlNodePtr now = tree_from_json("manifest", to_canonical_json(manifest));
    std::vector<EffectiveValue> values;
    for (const ManifestKey& key : manifest_keys()) {
        if (is_section(key.path)) continue; // workspace, whose map has it all
        const YamlNode::Entry* entry = find_path(*now, key.path);
        if (entry != nullptr && key.type == KeyType::map) {
            add_entries(values, root, key, *entry->value);
        } else {
            values.push_back({std::string(key.path), entry == nullptr ? std::string(key.default_text) : text_of(*entry->value),
                              written_at(root, key.path)});
        }
    }
    return values;
}

} // namespace sandbox::domain
