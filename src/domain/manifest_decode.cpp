// SPDX-License-Identifier: Apache-2.0
#include "domain/manifest_decode.hpp"

#include "domain/manifest_json.hpp"
#include "domain/manifest_paths.hpp"
#include "domain/names.hpp"
#include "domain/shown.hpp"
#include "util/format.hpp"

#include <algorithm>
#include <array>

namespace sandbox::domain {
namespace {

// What a reader gets: the field, and where its value goes.
struct Read {
    const Field& f;
    const ManifestKey& key;
    Manifest& m;
    const DecodeContext& c;
};
struct Binding {
    std::string_view path;
    void (*read)(Read);
};

std::string read_image(const Field& field) {
    std::string image = read_word(field);
    if (image.starts_with('-') || image.find(' ') != std::string::npos || image.size() > 512) {
        throw field.error(formatted("\"{}\" is not an image's name", shown(image)));
    }
    return image;
}

std::string read_user(const Field& field) {
    std::string user = read_word(field);
    const bool is_plain = user.find_first_of(" /\\") == std::string::npos && !user.starts_with(':') &&
                          !user.ends_with(':') && std::count(user.begin(), user.end(), ':') <= 1;
    if (is_plain) return user;
    throw field.error(formatted("\"{}\" is not a user", shown(user))).hint("NAME, UID, NAME:GROUP or UID:GID");
}

std::string read_name(const Field& field, std::string_view what) {
    std::string name = read_scalar(field);
    at_field(field, [&] { check_name(what, name); });
    return name;
}

std::string read_session_name(const Field& field) {
    std::string name = read_scalar(field);
    at_field(field, [&] { check_session_name(name); });
    return name;
}

std::string read_seccomp(const Field& field, const DecodeContext& context) {
    const std::string text = read_word(field);
    if (text == "default" || text == "unconfined") return text;
    return resolve_host_path(field, text, context.allowed_paths);
}

void read_version(const Field& field) {
    const std::string& text = read_scalar(field, "a number");
    if (text == "1") return;
    throw field.error(formatted("\"{}\" is not a known version", shown(text)))
        .hint("write version: 1, or use a newer sandbox for a newer manifest");
}

std::uint32_t read_count32(Read r) {
    return static_cast<std::uint32_t>(read_count(r.f, r.key.least, r.key.most));
}

// One line a key; extensions have none, they stay a tree.
const std::array k_bindings = {
    Binding{"version", [](Read r) { read_version(r.f); }},
    Binding{"name", [](Read r) { r.m.name = read_session_name(r.f); }},
    Binding{"image", [](Read r) { r.m.image = read_image(r.f); }},
    Binding{"pull", [](Read r) { r.m.pull = PullPolicy(read_choice(r.f, r.key.choices)); }},
    Binding{"workdir", [](Read r) { r.m.workdir = at_field(r.f, [&] { return normalise_container_path(read_word(r.f)); }); }},
    Binding{"user", [](Read r) { r.m.user = read_user(r.f); }},
    Binding{"workspace.mode", [](Read r) { r.m.workspace.mode = WorkspaceMode(read_choice(r.f, r.key.choices)); }},
    Binding{"workspace.id", [](Read r) { r.m.workspace.id = read_name(r.f, "workspace name"); }},
    Binding{"workspace.destroyOnSessionDestroy", [](Read r) { r.m.workspace.destroy_on_session_destroy = read_boolean(r.f); }},
    Binding{"workspace.shared", [](Read r) { r.m.workspace.shared = read_boolean(r.f); }},
    Binding{"workspace.readonly", [](Read r) { r.m.workspace.readonly = read_boolean(r.f); }},
    Binding{"workspace.create", [](Read r) { r.m.workspace.create = read_boolean(r.f); }},
    Binding{"labels", [](Read r) { read_labels(r.f, r.m, r.c); }},
    Binding{"env", [](Read r) { read_env(r.f, r.m, r.c); }},
    Binding{"directories", [](Read r) { read_directories(r.f, r.m, r.c); }},
    Binding{"files", [](Read r) { read_files(r.f, r.m, r.c); }},
    Binding{"limits.timeout", [](Read r) { r.m.limits.timeout = read_duration(r.f); }},
    Binding{"limits.maxOutput", [](Read r) { r.m.limits.max_output = read_size(r.f, r.key.least); }},
    Binding{"limits.maxFile", [](Read r) { r.m.limits.max_file = read_size(r.f, r.key.least); }},
    Binding{"limits.memory", [](Read r) { r.m.limits.memory = read_size(r.f, r.key.least); }},
    Binding{"limits.cpus", [](Read r) { r.m.limits.cpus = read_number(r.f, k_least_number, static_cast<double>(r.key.most)); }},
    Binding{"limits.pids", [](Read r) { r.m.limits.pids = read_count32(r); }},
    Binding{"limits.maxProcesses", [](Read r) { r.m.limits.max_processes = read_count32(r); }},
    Binding{"network", [](Read r) { r.m.network = NetworkMode(read_choice(r.f, r.key.choices)); }},
    Binding{"publish", [](Read r) { read_publish(r.f, r.m, r.c); }},
    Binding{"tmpfs", [](Read r) { read_tmpfs(r.f, r.m, r.c); }},
    Binding{"security.readonlyRootfs", [](Read r) { r.m.security.readonly_rootfs = read_boolean(r.f); }},
    Binding{"security.noNewPrivileges", [](Read r) { r.m.security.no_new_privileges = read_boolean(r.f); }},
    Binding{"security.dropCapabilities", [](Read r) { r.m.security.drop_capabilities = read_capabilities(r.f, r.c); }},
    Binding{"security.addCapabilities", [](Read r) { r.m.security.add_capabilities = read_capabilities(r.f, r.c); }},
    Binding{"security.seccomp", [](Read r) { r.m.security.seccomp = read_seccomp(r.f, r.c); }},
    Binding{"security.runtime", [](Read r) { r.m.security.runtime = read_word(r.f); }},
    Binding{"lifecycle.ttl", [](Read r) { r.m.lifecycle.ttl = read_duration(r.f); }},
    Binding{"lifecycle.idleTimeout", [](Read r) { r.m.lifecycle.idle_timeout = read_duration(r.f); }},
    Binding{"lifecycle.autoDestroy", [](Read r) { r.m.lifecycle.auto_destroy = read_boolean(r.f); }},
};

void walk(const Field& section, Manifest& manifest, const DecodeContext& context);

void read_entry(const Field& section, const YamlNode::Entry& entry, Manifest& manifest, const DecodeContext& context) {
    const Field field = entry_of(section, entry);
    if (is_extension(field.path)) return;
    if (is_section(field.path)) {
        walk(field, manifest, context);
        return;
    }
    const auto* binding = std::find_if(k_bindings.begin(), k_bindings.end(),
                                       [&](const Binding& candidate) { return candidate.path == field.path; });
    if (binding == k_bindings.end()) throw unknown_key(section.path, entry.key, entry.mark);
    binding->read({field, *find_key(field.path), manifest, context});
}

void walk(const Field& section, Manifest& manifest, const DecodeContext& context) {
    require_map(section);
    for (const auto& entry : section.node.entries) {
        // A misspelled key may stand for any other.
        const bool is_known = !section.path.empty() || find_key(entry.key) != nullptr || is_section(entry.key);
        const std::string_view path = section.path.empty() ? std::string_view(entry.key) : std::string_view(section.path);
        attempt(context, is_known ? path : std::string_view(), [&] { read_entry(section, entry, manifest, context); });
    }
}

} // namespace

Manifest decode_manifest(const YamlNode& root, const DecodeContext& context) {
    Manifest manifest;
    walk(Field{"", root.mark, root}, manifest, context);
    const bool are_seeds_good = context.problems == nullptr ||
                                (!context.problems->keys.contains("files") && !context.problems->keys.contains("directories"));
    if (are_seeds_good) attempt(context, "files", [&] { check_seeds(root, manifest.seeds); });
    manifest.extensions_json = tree_to_json(*read_extensions(root, context));
    if (!context.is_partial) check_manifest(root, manifest, context);
    return manifest;
}

} // namespace sandbox::domain
