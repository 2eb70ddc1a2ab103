// SPDX-License-Identifier: Apache-2.0
#include "domain/manifest_flags.hpp"

#include "domain/manifest.hpp"
#include "domain/manifest_decode.hpp"
#include "domain/manifest_tree.hpp"
#include "domain/shown.hpp"

#include "util/format.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <optional>

namespace sandbox::domain {
namespace {

constexpr std::string_view k_default_tmpfs = "64MB";

YamlMark flag_mark(std::string_view origin, std::string_view text) {
    return {std::make_shared<YamlSource>(YamlSource{std::string(origin), std::string(text), ".", YamlOrigin::flag}), 0, 0};
}

YamlNodePtr parse_flow(std::string_view origin, std::string_view value) {
    return parse_yaml(flag_mark(origin, value).source);
}

Error unknown_path(std::string_view path, const YamlMark& mark) {
    if (is_section(path)) {
        return located(mark, formatted("\"{}\" has keys, and no value of its own", path))
            .hint(formatted("--set {0}.KEY=VALUE, or --set '{0}={{KEY: VALUE}}'; sandbox manifest explain {0} lists the keys", path));
    }
    const auto near = nearest_key(path);
    return located(mark, formatted("unknown key \"{}\"{}", shown(path),
                                     near ? formatted("; did you mean \"{}\"?", *near) : std::string()))
        .hint("`sandbox manifest explain` lists the keys");
}

// "/tmp", "/tmp:64MB", "/tmp=64MB", and docker's "/tmp:size=64m".
YamlNodePtr tmpfs_entry(const YamlMark& mark, std::string_view value) {
    const std::size_t separator = value.find_first_of(":=");
    std::string size(separator == std::string_view::npos ? k_default_tmpfs : value.substr(separator + 1));
    if (size.starts_with("size=")) size.erase(0, 5);
    if (size.find_first_of(",=") != std::string::npos) {
        throw located(mark, formatted("\"{}\" has options other than the size", shown(value)))
            .hint("write PATH:SIZE, as in /tmp:64MB");
    }
    return make_map(mark, std::string(value.substr(0, separator)), make_scalar(mark, std::move(size)));
}

// "NAME=VALUE", the value taken literally: it may look like YAML and must not be read as such.
YamlNodePtr map_entry(const YamlMark& mark, std::string_view path, std::string_view value) {
    if (path == "tmpfs") return tmpfs_entry(mark, value);
    const std::size_t equals = value.find('=');
    std::string name(value.substr(0, equals));
    if (equals != std::string_view::npos) {
        return make_map(mark, std::move(name), make_scalar(mark, std::string(value.substr(equals + 1))));
    }
    // As docker has it: a variable's name alone takes it from here, a label's name alone has no value.
    if (path == "env") return make_map(mark, name, make_map(mark, "fromEnv", make_scalar(mark, name)));
    if (path == "labels") return make_map(mark, std::move(name), make_scalar(mark, ""));
    throw located(mark, formatted("\"{}\" is not KEY=VALUE", shown(value)));
}

std::vector<YamlNodePtr> list_items(const YamlMark& mark, std::string_view value) {
    std::vector<YamlNodePtr> items;
    for (auto& word : split(value, ',')) items.push_back(make_scalar(mark, std::move(word)));
    return items;
}

// A path that goes on below a map of free keys, such as env.LANG or files.src/a.b: the map's path and the key.
std::optional<std::pair<std::string, std::string>> free_key(std::string_view path) {
    for (const ManifestKey& key : manifest_keys()) {
        if (key.type != KeyType::map || !path.starts_with(key.path)) continue;
        if (path.size() <= key.path.size() + 1 || path[key.path.size()] != '.') continue;
        return std::pair{std::string(key.path), std::string(path.substr(key.path.size() + 1))};
    }
    return std::nullopt;
}

// A file may be called anything; but who ends its name like this means where its content is to come from.
void check_is_file_name(const YamlMark& mark, std::string_view name) {
    const auto dot = name.rfind('.');
    if (dot == std::string_view::npos || !name.substr(dot).starts_with(".from")) return;
    const std::string_view source = name.substr(dot + 1);
    const std::string key = "files.*." + std::string(source);
    if (std::ranges::find(manifest_entry_keys(), key, &ManifestKey::path) == manifest_entry_keys().end()) return;
    throw located(mark, formatted("a dot is part of a file's name here: \"{}\"", shown(name)))
        .hint(formatted("--set 'files.{}={{{}: VALUE}}'", shown(name.substr(0, dot)), source));
}

YamlNodePtr free_value(const YamlMark& mark, std::string_view map, std::string_view value, std::string_view origin) {
    // Only a file's value has a form as a map that is worth a flag; an environment's "{...}" is JSON for the program.
    if (map == "files" && value.starts_with('{')) return parse_flow(origin, value);
    return make_scalar(mark, std::string(value));
}

} // namespace

FlagTree::FlagTree() {
    auto root = std::make_shared<YamlNode>();
    root->kind = YamlNode::Kind::map;
    m_root = std::move(root);
}

YamlNodePtr FlagTree::list(const std::string& path, YamlNodePtr added, std::string_view origin) {
    auto& [last_origin, so_far] = m_lists[path];
    if (so_far != nullptr && last_origin == origin && so_far->is(YamlNode::Kind::list) &&
        added->is(YamlNode::Kind::list)) {
        auto items = so_far->items;
        items.insert(items.end(), added->items.begin(), added->items.end());
        added = make_list(added->mark, std::move(items));
    }
    last_origin = origin;
    so_far = added;
    return added;
}

void FlagTree::set(std::string_view path, std::string_view value, std::string_view origin) {
    std::string key_path(path);
    if (path == "metadata" || path.starts_with("metadata.")) key_path.replace(0, 8, "labels");
    const YamlMark mark = flag_mark(origin, value);
    const bool is_flow = value.starts_with('{') || value.starts_with('[');
    const ManifestKey* key = find_key(key_path);
    // Environment values are bytes; everything else becomes JSON at some point.
    const bool is_env = key_path == "env" || key_path.starts_with("env.");
    if (!is_valid_utf8(is_env ? value.substr(0, value.find('=')) : value) && !key_path.starts_with("env.")) {
        throw located(mark, "the value is not UTF-8");
    }
    YamlNodePtr tree;
    if (key != nullptr && key->type == KeyType::list) {
        auto added = is_flow ? parse_flow(origin, value) : make_list(mark, list_items(mark, value));
        tree = make_path(mark, key_path, list(key_path, std::move(added), origin));
    } else if (value.starts_with('{') && (is_section(key_path) || (key != nullptr && key->type == KeyType::map))) {
        tree = make_path(mark, key_path, parse_flow(origin, value));
    } else if (key != nullptr && key->type == KeyType::map) {
        tree = make_path(mark, key_path, map_entry(mark, key_path, value));
    } else if (key != nullptr) {
        tree = make_path(mark, key_path, make_scalar(mark, std::string(value)));
    } else if (const auto below = free_key(key_path)) {
        if (below->first == "files") check_is_file_name(mark, below->second);
        tree = make_path(mark, below->first,
                         make_map(mark, below->second, free_value(mark, below->first, value, origin)));
    } else {
        throw unknown_path(path, mark);
    }
    m_root = merge_trees(m_root, normalise_manifest(tree));
}

} // namespace sandbox::domain
