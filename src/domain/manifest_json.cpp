// SPDX-License-Identifier: Apache-2.0
// The canonical JSON is a manifest itself, so reading it back goes through the same decoder.
#include "domain/manifest_json.hpp"

#include "domain/manifest.hpp"
#include "domain/manifest_decode.hpp"
#include "domain/units.hpp"
#include "util/format.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"

#include <nlohmann/json.hpp>

namespace sandbox::domain {
namespace {

using nlohmann::json;

constexpr int k_max_depth = 64;

json to_json(const YamlNode& node) {
    switch (node.kind) {
    case YamlNode::Kind::null: return nullptr;
    case YamlNode::Kind::scalar: return node.plain ? json::parse(node.text) : json(node.text);
    case YamlNode::Kind::list: {
        json list = json::array();
        for (const auto& item : node.items) list.push_back(to_json(*item));
        return list;
    }
    case YamlNode::Kind::map: break;
    }
    json map = json::object();
    for (const auto& entry : node.entries) map[entry.key] = to_json(*entry.value);
    return map;
}

YamlNodePtr from_json(const json& value, const YamlMark& mark, int depth) {
    if (depth > k_max_depth) throw located(mark, "nested too deep");
    auto node = std::make_shared<YamlNode>();
    node->mark = mark;
    if (value.is_null()) return node;
    if (value.is_object()) {
        node->kind = YamlNode::Kind::map;
        for (const auto& [key, child] : value.items()) {
            node->entries.push_back({key, mark, from_json(child, mark, depth + 1)});
        }
    } else if (value.is_array()) {
        node->kind = YamlNode::Kind::list;
        for (const auto& child : value) node->items.push_back(from_json(child, mark, depth + 1));
    } else {
        node->kind = YamlNode::Kind::scalar;
        node->text = value.is_string() ? value.get<std::string>() : value.dump();
        node->plain = !value.is_string();
    }
    return node;
}

json workspace_json(const Workspace& workspace) {
    if (workspace.mode == WorkspaceMode::ephemeral) return {{"mode", "ephemeral"}};
    return {{"mode", "persistent"},
            {"id", workspace.id},
            {"destroyOnSessionDestroy", workspace.destroy_on_session_destroy},
            {"shared", workspace.shared},
            {"readonly", workspace.readonly},
            {"create", workspace.create}};
}

json env_json(const EnvValue& value) {
    switch (value.kind) {
    case EnvValue::Kind::from_env: return {{"fromEnv", value.value}};
    case EnvValue::Kind::from_file: return {{"fromFile", value.value}};
    case EnvValue::Kind::literal: break;
    }
    if (is_valid_utf8(value.value)) return value.value;
    return {{"base64", base64_encode(value.value)}};
}

std::string_view content_key(const Seed& seed) {
    switch (seed.kind) {
    case Seed::Kind::text: return is_valid_utf8(seed.content) ? "text" : "base64";
    case Seed::Kind::from_file: return "fromFile";
    case Seed::Kind::from_dir: return "fromDir";
    case Seed::Kind::from_archive: return "fromArchive";
    case Seed::Kind::from_git: return "fromGit";
    case Seed::Kind::symlink: return "symlink";
    case Seed::Kind::directory: break;
    }
    return "path";
}

json seed_json(const Seed& seed) {
    const std::string key(content_key(seed));
    json entry;
    if (seed.kind == Seed::Kind::directory) entry[key] = seed.path;
    else entry[key] = key == "base64" ? base64_encode(seed.content) : seed.content;
    if (seed.mode) entry["mode"] = formatted("{:04o}", *seed.mode);
    if (!seed.exclude.empty()) entry["exclude"] = seed.exclude;
    if (!seed.ref.empty()) entry["ref"] = seed.ref;
    return entry;
}

json limits_json(const Limits& limits) {
    json value = {{"timeout", format_duration_exact(limits.timeout)},
                  {"maxOutput", format_size(limits.max_output)},
                  {"memory", format_size(limits.memory)},
                  {"cpus", limits.cpus},
                  {"pids", limits.pids},
                  {"maxProcesses", limits.max_processes}};
    if (limits.max_file) value["maxFile"] = format_size(*limits.max_file);
    return value;
}

json security_json(const Security& security) {
    json value = {{"readonlyRootfs", security.readonly_rootfs},
                  {"noNewPrivileges", security.no_new_privileges},
                  {"dropCapabilities", security.drop_capabilities},
                  {"addCapabilities", security.add_capabilities},
                  {"seccomp", security.seccomp}};
    if (!security.runtime.empty()) value["runtime"] = security.runtime;
    return value;
}

json lifecycle_json(const Lifecycle& lifecycle) {
    return {{"ttl", format_duration_exact(lifecycle.ttl)},
            {"idleTimeout", format_duration_exact(lifecycle.idle_timeout)},
            {"autoDestroy", lifecycle.auto_destroy}};
}

std::string_view pull_name(PullPolicy pull) {
    if (pull == PullPolicy::missing) return "missing";
    return pull == PullPolicy::always ? "always" : "never";
}

void add_maps(json& value, const Manifest& manifest) {
    value["labels"] = manifest.labels;
    value["env"] = json::object();
    for (const auto& [name, entry] : manifest.env) value["env"][name] = env_json(entry);
    value["tmpfs"] = json::object();
    for (const auto& [path, bytes] : manifest.tmpfs) value["tmpfs"][path] = format_size(bytes);
    value["directories"] = json::array();
    value["files"] = json::object();
    for (const Seed& seed : manifest.seeds) {
        if (seed.kind == Seed::Kind::directory) value["directories"].push_back(seed_json(seed));
        else value["files"][seed.path] = seed_json(seed);
    }
}

} // namespace

bool is_json(std::string_view text) {
    return json::accept(text);
}

std::string tree_to_json(const YamlNode& root) {
    return to_json(root).dump();
}

YamlNodePtr tree_from_json(std::string_view name, std::string_view text) {
    const YamlMark mark{std::make_shared<YamlSource>(YamlSource{std::string(name), {}, {}, YamlOrigin::stored}), 0, 0};
    const json value = json::parse(text, nullptr, false);
    if (value.is_discarded()) throw located(mark, "this is not JSON");
    if (!value.is_object()) throw located(mark, "this is not a JSON object");
    return from_json(value, mark, 0);
}

std::string to_canonical_json(const Manifest& manifest) {
    json value = json::parse(manifest.extensions_json);
    value["version"] = 1;
    if (!manifest.name.empty()) value["name"] = manifest.name;
    if (!manifest.image.empty()) value["image"] = manifest.image;
    if (!manifest.user.empty()) value["user"] = manifest.user;
    value["pull"] = pull_name(manifest.pull);
    value["workdir"] = manifest.workdir;
    value["workspace"] = workspace_json(manifest.workspace);
    value["limits"] = limits_json(manifest.limits);
    value["network"] = manifest.network == NetworkMode::none ? "none" : "bridge";
    value["publish"] = manifest.publish;
    value["security"] = security_json(manifest.security);
    value["lifecycle"] = lifecycle_json(manifest.lifecycle);
    add_maps(value, manifest);
    return value.dump();
}

Manifest from_canonical_json(std::string_view text) {
    DecodeContext context;
    context.is_partial = true;
    context.is_stored = true;
    return decode_manifest(*tree_from_json("stored manifest", text), context);
}

std::string manifest_digest(const Manifest& manifest) {
    return "sha256:" + sha256_hex(to_canonical_json(manifest));
}

std::vector<ExportItem> exports_of(const Manifest& manifest) {
    const json section = json::parse(manifest.extensions_json).value("export", json::object());
    const auto optional = section.value("optional", std::vector<std::string>{});
    const json files = section.value("files", json::object());
    std::vector<ExportItem> items;
    for (const auto& [path, target] : files.items()) {
        items.push_back({path, target.get<std::string>(), std::ranges::find(optional, path) != optional.end()});
    }
    return items;
}

std::vector<std::string> sections_kept_for_later(const Manifest& manifest) {
    std::vector<std::string> sections;
    const json extensions = json::parse(manifest.extensions_json);
    for (const auto& [name, section] : extensions.items()) {
        if (name != "export" && !section.empty()) sections.push_back(name);
    }
    return sections;
}

} // namespace sandbox::domain
