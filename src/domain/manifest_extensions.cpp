// SPDX-License-Identifier: Apache-2.0
// checkpoint, export and policy: checked here, used by verbs of their own, kept as a tree in one form in between.
#include "domain/manifest_decode.hpp"
#include "domain/manifest_paths.hpp"
#include "domain/shown.hpp"
#include "domain/units.hpp"
#include "util/format.hpp"

#include <algorithm>

namespace sandbox::domain {
namespace {

std::shared_ptr<YamlNode> copy_shape(const Field& field, YamlNode::Kind kind) {
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->mark = field.mark();
    return node;
}

YamlNodePtr scalar(const Field& field, std::string text, bool plain = false) {
    auto node = copy_shape(field, YamlNode::Kind::scalar);
    node->text = std::move(text);
    node->plain = plain;
    return node;
}

std::string workspace_path(const Field& field, std::string_view text) {
    return at_field(field, [&] { return normalise_workspace_path(text); });
}

YamlNodePtr read_export_files(const Field& field, const DecodeContext& context) {
    require_map(field);
    auto node = copy_shape(field, YamlNode::Kind::map);
    for (const auto& entry : field.node.entries) {
        const Field value = entry_of(field, entry);
        std::string path = workspace_path(value, entry.key);
        const std::string written = read_scalar(value, "a path");
        std::string target = resolve_host_path(value, written, context.allowed_paths);
        // "results/" is the folder for it, also where there is none yet.
        if (written.ends_with('/') && !target.ends_with('/')) target += '/';
        node->entries.push_back({std::move(path), entry.mark, scalar(value, std::move(target))});
    }
    return node;
}

YamlNodePtr read_list(const Field& field, const ManifestKey& key, const DecodeContext& context) {
    auto node = copy_shape(field, YamlNode::Kind::list);
    auto words = read_words(field);
    if (words.size() < key.least && !context.is_stored) {
        // Taken for "nothing", it would turn off what a config file's defaults ask for, and nobody would see it.
        throw field.error("a command and its arguments, and this names none").hint("leave the key out, or write it as in " + std::string(key.example));
    }
    for (auto& word : words) {
        if (field.path == "export.optional") word = workspace_path(field, word);
        node->items.push_back(scalar(field, std::move(word)));
    }
    return node;
}

std::string read_store(const Field& field) {
    std::string store = read_word(field);
    if (store.starts_with("dir:") || store.starts_with("postgres://") || store.starts_with("s3://")) return store;
    throw field.error(formatted("unknown store \"{}\"", shown(store)))
        .hint("dir:PATH, postgres://... or s3://BUCKET/PREFIX?endpoint=...");
}

YamlNodePtr read_value(const Field& field, const ManifestKey& key, const DecodeContext& context) {
    if (field.path == "export.files") return read_export_files(field, context);
    if (field.path == "checkpoint.store") return scalar(field, read_store(field));
    if (field.path == "checkpoint.retain") {
        if (read_scalar(field, "a number or all") == "all") return scalar(field, "all");
        return scalar(field, formatted("{}", read_count(field, 1, 1'000'000)), true);
    }
    switch (key.type) {
    case KeyType::boolean: return scalar(field, read_boolean(field) ? "true" : "false", true);
    case KeyType::size: return scalar(field, format_size(read_size(field, key.least)));
    case KeyType::duration: return scalar(field, format_duration_exact(read_duration(field)));
    case KeyType::count: return scalar(field, formatted("{}", read_count(field, key.least, key.most)), true);
    case KeyType::list: return read_list(field, key, context);
    default: return scalar(field, read_word(field));
    }
}

YamlNodePtr read_section(const Field& section, const DecodeContext& context) {
    require_map(section);
    auto node = copy_shape(section, YamlNode::Kind::map);
    for (const auto& entry : section.node.entries) {
        attempt(context, section.path, [&] {
            const Field field = entry_of(section, entry);
            const ManifestKey* key = find_key(field.path);
            if (key == nullptr && !is_section(field.path)) throw unknown_key(section.path, entry.key, entry.mark);
            node->entries.push_back(
                {entry.key, entry.mark, key == nullptr ? read_section(field, context) : read_value(field, *key, context)});
        });
    }
    return node;
}

void check_durable(const Field& checkpoint) {
    const auto* durable = checkpoint.node.find("durable");
    if (durable == nullptr || durable->value->text != "true") return;
    const auto* store = checkpoint.node.find("store");
    if (store != nullptr && !store->value->text.starts_with("dir:")) return;
    throw entry_of(checkpoint, *durable)
        .error("the store is a directory of this host, which is not durable")
        .hint("set checkpoint.store to postgres://... or s3://...");
}

} // namespace

YamlNodePtr read_extensions(const YamlNode& root, const DecodeContext& context) {
    auto tree = std::make_shared<YamlNode>();
    tree->kind = YamlNode::Kind::map;
    for (const auto& entry : root.entries) {
        if (!is_extension(entry.key)) continue;
        attempt(context, entry.key, [&] {
            auto section = read_section(Field{entry.key, entry.mark, *entry.value}, context);
            if (entry.key == "checkpoint") check_durable(Field{entry.key, entry.mark, *section});
            if (!section->entries.empty()) tree->entries.push_back({entry.key, entry.mark, std::move(section)});
        });
    }
    return tree;
}

} // namespace sandbox::domain
