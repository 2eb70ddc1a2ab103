// SPDX-License-Identifier: Apache-2.0
#include "domain/manifest_tree.hpp"

#include "util/format.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <utility>

namespace sandbox::domain {
namespace {

using Kind = YamlNode::Kind;

YamlNodePtr normalise_workspace(const YamlNodePtr& node) {
    const bool is_scalar = node->is(Kind::scalar);
    const bool is_mode = is_scalar && (node->text == "ephemeral" || node->text == "persistent");
    if (is_mode) return make_map(node->mark, "mode", node);
    if (!is_scalar && (node->find("id") == nullptr || node->find("mode") != nullptr)) return node;
    auto map = std::make_shared<YamlNode>(is_scalar ? *make_map(node->mark, "id", node) : *node);
    map->entries.push_back({"mode", node->mark, make_scalar(node->mark, "persistent")});
    return map;
}

YamlNodePtr normalise_network(const YamlNodePtr& node) {
    return node->is(Kind::scalar) && node->text == "false" ? make_scalar(node->mark, "none") : node;
}

// These keep a whole value at each key: a reference must not merge with the one it replaces.
bool holds_whole_values(std::string_view path) {
    return path == "env" || path == "files" || path == "labels" || path == "tmpfs";
}

bool replaces_all(const YamlNode& over, std::string_view path) {
    const auto* mode = path == "workspace" ? over.find("mode") : nullptr;
    return mode != nullptr && mode->value->text == "ephemeral";
}

} // namespace

YamlNodePtr make_scalar(const YamlMark& mark, std::string text) {
    auto node = std::make_shared<YamlNode>();
    node->kind = Kind::scalar;
    node->mark = mark;
    node->text = std::move(text);
    return node;
}

YamlNodePtr make_list(const YamlMark& mark, std::vector<YamlNodePtr> items) {
    auto node = std::make_shared<YamlNode>();
    node->kind = Kind::list;
    node->mark = mark;
    node->items = std::move(items);
    return node;
}

YamlNodePtr make_map(const YamlMark& mark, std::string key, YamlNodePtr value) {
    auto node = std::make_shared<YamlNode>();
    node->kind = Kind::map;
    node->mark = mark;
    node->entries.push_back({std::move(key), mark, std::move(value)});
    return node;
}

YamlNodePtr make_path(const YamlMark& mark, std::string_view path, YamlNodePtr value) {
    auto names = split(path, '.');
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
        value = make_map(mark, std::move(*name), std::move(value));
    }
    return value;
}

YamlNodePtr normalise_manifest(const YamlNodePtr& root) {
    if (!root->is(Kind::map)) {
        throw located(root->mark, formatted("a manifest is a map, and this is {}", kind_name(root->kind)))
            .hint("README.md has an example with every section");
    }
    auto normal = std::make_shared<YamlNode>(*root);
    for (auto& entry : normal->entries) {
        if (entry.key == "metadata") {
            if (root->find("labels") != nullptr) {
                throw located(entry.mark, "both labels and metadata, which are the same key");
            }
            entry.key = "labels";
        }
        if (entry.key == "workspace") entry.value = normalise_workspace(entry.value);
        if (entry.key == "network") entry.value = normalise_network(entry.value);
    }
    return normal;
}

YamlNodePtr merge_trees(const YamlNodePtr& base, const YamlNodePtr& over, const std::string& path) {
    if (!base->is(Kind::map) || replaces_all(*over, path)) return over;
    if (over->is(Kind::null)) return base;
    if (!over->is(Kind::map)) return over;
    auto merged = std::make_shared<YamlNode>(*base);
    for (const auto& entry : over->entries) {
        const auto found = std::find_if(merged->entries.begin(), merged->entries.end(),
                                        [&](const YamlNode::Entry& mine) { return mine.key == entry.key; });
        if (found == merged->entries.end()) {
            merged->entries.push_back(entry);
        } else if (holds_whole_values(path)) {
            *found = entry;
        } else {
            *found = {entry.key, entry.mark,
                      merge_trees(found->value, entry.value, path.empty() ? entry.key : path + "." + entry.key)};
        }
    }
    return merged;
}

} // namespace sandbox::domain
