// SPDX-License-Identifier: Apache-2.0
// What holds between keys, checked once everything is known.
#include "domain/longest_life.hpp"
#include "domain/manifest_decode.hpp"
#include "domain/manifest_paths.hpp"
#include "domain/names.hpp"
#include "domain/shown.hpp"
#include "domain/units.hpp"

#include "util/format.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

namespace sandbox::domain {
namespace {

// An Error at the first of `paths` that was given, or at no place when all are defaults.
Error error_at(const YamlNode& root, std::initializer_list<std::string_view> paths, const std::string& message) {
    for (const std::string_view path : paths) {
        const YamlNode::Entry* entry = find_path(root, path);
        if (entry != nullptr) return Field{std::string(path), entry->mark, *entry->value}.error(message);
    }
    return Error(ErrorCode::manifest_invalid, formatted("{}: {}", *paths.begin(), message));
}

void check_ttl(const YamlNode& root, const Manifest& manifest) {
    const auto ttl = manifest.lifecycle.ttl;
    if (ttl.count() <= 0) {
        throw error_at(root, {"lifecycle.ttl"}, "0 would end the session before it starts")
            .hint("every session has an end; the longest is 365d");
    }
    if (ttl > k_longest_life) throw error_at(root, {"lifecycle.ttl"}, "it is longer than 365d");
}

void check_idle(const YamlNode& root, const Manifest& manifest) {
    if (manifest.lifecycle.idle_timeout > k_longest_life) {
        throw error_at(root, {"lifecycle.idleTimeout"}, "it is longer than 365d").hint("0 is no idle time-out");
    }
}

void check_timeout(const YamlNode& root, const Manifest& manifest) {
    const auto ttl = manifest.lifecycle.ttl;
    if (manifest.limits.timeout > ttl && ttl.count() > 0) {
        throw error_at(root, {"limits.timeout", "lifecycle.ttl"},
                       formatted("the time-out of {} is longer than the session lives ({})",
                                 format_duration_exact(manifest.limits.timeout), format_duration_exact(ttl)))
            .hint("raise lifecycle.ttl (--ttl)");
    }
}

void check_workspace(const YamlNode& root, const Manifest& manifest) {
    const Workspace& workspace = manifest.workspace;
    if (workspace.mode == WorkspaceMode::persistent) {
        if (workspace.id.empty()) {
            throw error_at(root, {"workspace.mode"}, "a persistent workspace needs a name")
                .hint("workspace: {mode: persistent, id: NAME}, or just workspace: NAME");
        }
        if (workspace.readonly && !manifest.seeds.empty()) {
            throw error_at(root, {"workspace.readonly"}, "files and directories cannot be put into a read-only workspace");
        }
        return;
    }
    const Workspace plain;
    const std::array<std::pair<std::string_view, bool>, 5> given{{
        {"workspace.id", !workspace.id.empty()},
        {"workspace.shared", workspace.shared != plain.shared},
        {"workspace.readonly", workspace.readonly != plain.readonly},
        {"workspace.create", workspace.create != plain.create},
        {"workspace.destroyOnSessionDestroy",
         workspace.destroy_on_session_destroy != plain.destroy_on_session_destroy},
    }};
    for (const auto& [path, is_given] : given) {
        if (!is_given) continue;
        throw error_at(root, {path}, "an ephemeral workspace has no such setting")
            .hint("workspace: NAME, or {mode: persistent, id: NAME, ...}, makes it persistent");
    }
}

void check_mounts(const YamlNode& root, const Manifest& manifest) {
    constexpr std::array<std::string_view, 4> taken{"/.sandbox", "/proc", "/sys", "/dev"};
    for (const std::string_view path : taken) {
        if (is_below(manifest.workdir, path)) {
            throw error_at(root, {"workdir"}, formatted("the workspace cannot be mounted in {}", path));
        }
    }
    for (const auto& [path, bytes] : manifest.tmpfs) {
        if (is_below(manifest.workdir, path)) {
            throw error_at(root, {"tmpfs", "workdir"}, formatted("{} would hide the workspace", shown(path)));
        }
        if (is_below(path, "/.sandbox") || is_below(path, "/proc") || is_below(path, "/sys") || path == "/dev") {
            throw error_at(root, {"tmpfs"}, formatted("nothing can be mounted at {}", shown(path)));
        }
    }
}

void check_image(const YamlNode&, const Manifest& manifest) {
    if (manifest.image.empty()) {
        throw Error(ErrorCode::manifest_invalid, "no image is given")
            .hint("write image: NAME in the manifest, or give --image NAME");
    }
}

void check_session(const YamlNode& root, const Manifest& manifest) {
    // Arguments are looked up by id first, so such a name could never be reached.
    if (is_session_id(manifest.name)) {
        throw error_at(root, {"name"}, formatted("\"{}\" looks like a session id", shown(manifest.name)));
    }
}

void check_publish(const YamlNode& root, const Manifest& manifest) {
    if (!manifest.publish.empty() && manifest.network == NetworkMode::none) {
        throw error_at(root, {"publish", "network"}, "ports are published, and the session has no network")
            .hint("set network: bridge (--network bridge)");
    }
}

// A rule between keys: it can be told only where all the keys that it reads are good.
struct Rule {
    void (*check)(const YamlNode&, const Manifest&);
    std::vector<std::string_view> keys;
};

} // namespace

void check_manifest(const YamlNode& root, const Manifest& manifest, const DecodeContext& context) {
    const std::array<Rule, 8> rules{{{check_image, {"image", ""}},
                                     {check_session, {"name"}},
                                     {check_publish, {"publish", "network"}},
                                     {check_ttl, {"lifecycle"}},
                                     {check_idle, {"lifecycle"}},
                                     {check_timeout, {"lifecycle", "limits"}},
                                     {check_workspace, {"workspace", "files", "directories"}},
                                     {check_mounts, {"workdir", "tmpfs"}}}};
    const auto is_bad = [&](std::string_view key) { return context.problems != nullptr && context.problems->keys.contains(key); };
    for (const Rule& rule : rules) {
        if (std::any_of(rule.keys.begin(), rule.keys.end(), is_bad)) continue;
        attempt(context, "", [&] { rule.check(root, manifest); });
    }
}

} // namespace sandbox::domain
