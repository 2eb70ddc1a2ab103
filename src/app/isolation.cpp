// SPDX-License-Identifier: Apache-2.0
#include "app/isolation.hpp"

#include "app/agent_volume.hpp"
#include "app/capabilities.hpp"
#include "domain/units.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace sandbox::app {
namespace {

using domain::Manifest;
using engine::ContainerInfo;

constexpr std::size_t k_anonymous_name = 64; // hex digits

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

std::string size_text(std::uint64_t bytes) { return bytes == 0 ? "no limit" : domain::format_size(bytes); }

std::string count_text(std::uint64_t count) { return count == 0 ? "no limit" : std::to_string(count); }

std::string cpus_text(double cpus) {
    if (cpus <= 0) return "no limit";
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", cpus);
    return text;
}

template <typename Value, typename Text> std::optional<std::string> shown(const std::optional<Value>& value, Text text) {
    if (!value) return std::nullopt;
    return text(*value);
}

// A kernel rounds a limit down to whole pages.
bool is_other_size(std::uint64_t asked, std::uint64_t found) { return found / 65536 != asked / 65536; }

bool has_option(const ContainerInfo& container, std::string_view prefix) {
    return std::ranges::any_of(container.settings.security_opt, [&](const std::string& option) { return option.starts_with(prefix); });
}

// gVisor is a kernel of its own: what it says inside about seccomp is not what holds.
bool is_own_kernel(const ContainerInfo& container) {
    return container.settings.runtime.starts_with("runsc") || container.settings.runtime.starts_with("kata");
}

Aspect user_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    Aspect aspect{"user", manifest.user, container.user.empty() ? "0" : container.user, {}, false};
    if (inside == nullptr || !inside->uid || !inside->gid) return aspect;
    aspect.inside = std::to_string(*inside->uid) + ":" + std::to_string(*inside->gid);
    // Names are the image's to resolve; numbers can be compared.
    const std::string& wanted = manifest.user.empty() ? aspect.engine : manifest.user;
    const std::string user = wanted.substr(0, wanted.find(':'));
    const bool is_number = !user.empty() && user.find_first_not_of("0123456789") == std::string::npos;
    aspect.differs = (!manifest.user.empty() && container.user != manifest.user) || (is_number && user != std::to_string(*inside->uid));
    return aspect;
}

std::string capabilities_told(const ContainerInfo& container) {
    if (container.settings.privileged) return "all (privileged)";
    return capability_names(capabilities_of(container.settings.cap_drop, container.settings.cap_add).allowed);
}

Aspect capabilities_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    const auto asked = capabilities_of(manifest.security.drop_capabilities, manifest.security.add_capabilities);
    const auto told = capabilities_of(container.settings.cap_drop, container.settings.cap_add);
    Aspect aspect{"capabilities", capability_names(asked.allowed), capabilities_told(container), {}, false};
    aspect.differs = container.settings.privileged || told.allowed != asked.allowed;
    if (inside == nullptr || !inside->bounding_caps) return aspect;
    const std::uint64_t held = *inside->bounding_caps | inside->effective_caps.value_or(0);
    aspect.inside = capability_names(held);
    // Which ones are the default is the engine's choice: fewer than docker's is no difference, one that was named and is missing is.
    aspect.differs = aspect.differs || (held & ~asked.allowed) != 0 || (asked.named & ~held) != 0;
    return aspect;
}

Aspect privileges_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    const bool asked = manifest.security.no_new_privileges;
    const bool told = has_option(container, "no-new-privileges") && !has_option(container, "no-new-privileges:false") &&
                      !has_option(container, "no-new-privileges=false");
    Aspect aspect{"noNewPrivileges", yes_or_no(asked), yes_or_no(told), {}, told != asked};
    if (inside == nullptr || !inside->no_new_privileges) return aspect;
    aspect.inside = yes_or_no(*inside->no_new_privileges);
    aspect.differs = aspect.differs || *inside->no_new_privileges != asked;
    return aspect;
}

Aspect seccomp_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    const std::string& asked = manifest.security.seccomp;
    const bool unconfined = container.settings.privileged || has_option(container, "seccomp=unconfined") || has_option(container, "seccomp:unconfined");
    const std::string told = unconfined ? "unconfined" : has_option(container, "seccomp") ? "profile" : "default";
    const std::string wanted = asked == "default" || asked == "unconfined" ? asked : "profile";
    Aspect aspect{"seccomp", asked, told, {}, told != wanted};
    if (inside == nullptr || !inside->seccomp || is_own_kernel(container)) return aspect;
    aspect.inside = *inside->seccomp == 0 ? "off" : *inside->seccomp == 1 ? "strict" : "filter";
    aspect.differs = aspect.differs || (asked != "unconfined" && *inside->seccomp == 0);
    return aspect;
}

const InsideMount* mounted_at(const Inside& inside, const std::string& target) {
    const InsideMount* found = nullptr;
    for (const auto& mount : inside.mounts) {
        if (mount.target == target) found = &mount; // the last one is on top
    }
    return found;
}

Aspect rootfs_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    const bool asked = manifest.security.readonly_rootfs;
    Aspect aspect{"readonlyRootfs", yes_or_no(asked), yes_or_no(container.settings.readonly_rootfs), {}, container.settings.readonly_rootfs != asked};
    if (inside == nullptr) return aspect;
    if (const auto* root = mounted_at(*inside, "/")) {
        aspect.inside = yes_or_no(root->read_only);
        aspect.differs = aspect.differs || root->read_only != asked;
    }
    return aspect;
}

Aspect memory_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    const auto asked = manifest.limits.memory;
    Aspect aspect{"memory", size_text(asked), size_text(container.settings.memory), {}, container.settings.memory != asked};
    if (inside == nullptr) return aspect;
    aspect.inside = shown(inside->memory, size_text);
    aspect.differs = aspect.differs || (inside->memory && is_other_size(asked, *inside->memory));
    return aspect;
}

// No swap on top of memory is always asked for, where memory has a limit.
Aspect swap_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    const auto told = container.settings.memory_swap;
    const bool is_none = told == static_cast<std::int64_t>(container.settings.memory);
    const bool is_bounded = manifest.limits.memory > 0;
    Aspect aspect{"swap", is_bounded ? "none" : "", is_none ? "none" : told <= 0 ? "no limit" : size_text(static_cast<std::uint64_t>(told) - container.settings.memory),
                  {}, is_bounded && told > 0 && !is_none};
    if (inside == nullptr || !inside->swap) return aspect;
    aspect.inside = *inside->swap == 0 ? "none" : domain::format_size(*inside->swap);
    aspect.differs = aspect.differs || (is_bounded && *inside->swap >= 65536);
    return aspect;
}

Aspect cpus_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    const auto is_other = [&](double found) { return std::abs(found - manifest.limits.cpus) > 0.011; };
    Aspect aspect{"cpus", cpus_text(manifest.limits.cpus), cpus_text(container.settings.cpus), {}, is_other(container.settings.cpus)};
    if (inside == nullptr) return aspect;
    aspect.inside = shown(inside->cpus, cpus_text);
    aspect.differs = aspect.differs || (inside->cpus && is_other(*inside->cpus));
    return aspect;
}

Aspect pids_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    const std::uint64_t asked = manifest.limits.pids;
    const auto told = static_cast<std::uint64_t>(std::max<std::int64_t>(0, container.settings.pids));
    Aspect aspect{"pids", count_text(asked), count_text(told), {}, told != asked};
    if (inside == nullptr) return aspect;
    aspect.inside = shown(inside->pids, count_text);
    aspect.differs = aspect.differs || (inside->pids && *inside->pids != asked);
    return aspect;
}

Aspect network_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    const bool is_none = manifest.network == domain::NetworkMode::none;
    const std::string& told = container.settings.network;
    Aspect aspect{"network", is_none ? "none" : "bridge", told, {}, is_none ? told != "none" : told != "sandbox-bridge"};
    if (inside == nullptr || !inside->interfaces) return aspect;
    aspect.inside = inside->interfaces->empty() ? "loopback only" : join(*inside->interfaces, ",");
    aspect.differs = aspect.differs || (is_none && !inside->interfaces->empty());
    return aspect;
}

Aspect runtime_aspect(const Manifest& manifest, const ContainerInfo& container) {
    const std::string& asked = manifest.security.runtime;
    return {"runtime", asked, container.settings.runtime, {}, !asked.empty() && asked != container.settings.runtime};
}

// What the manifest never asks for.
Aspect reach_aspect(const ContainerInfo& container) {
    std::vector<std::string> told;
    if (container.settings.privileged) told.emplace_back("privileged");
    for (const auto& name : container.settings.host_namespaces) told.push_back("the host's " + name + " namespace");
    if (container.settings.network == "host") told.emplace_back("the host's network");
    if (container.settings.devices > 0) told.push_back(std::to_string(container.settings.devices) + " devices");
    return {"hostAccess", "none", told.empty() ? "none" : join(told, ", "), {}, !told.empty()};
}

bool is_expected(const engine::MountInfo& mount, const Manifest& manifest) {
    if (mount.kind == "tmpfs") return true; // has an aspect of its own
    if (mount.target == manifest.workdir) return mount.kind == "volume" && (!manifest.workspace.readonly || !mount.read_write);
    if (mount.target == k_agent_mount) return mount.kind == "volume" && !mount.read_write;
    if (mount.target == k_channel_mount) return !mount.read_write;
    // An image's own VOLUMEs.
    return mount.kind == "volume" && mount.name.size() == k_anonymous_name;
}

std::string mount_text(const std::string& target, bool read_only) { return target + (read_only ? " ro" : " rw"); }

Aspect mounts_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    Aspect aspect{"mounts", mount_text(manifest.workdir, manifest.workspace.readonly) + ", " + mount_text(k_agent_mount, true), {}, {}, false};
    std::vector<std::string> told;
    std::vector<std::string> held;
    bool has_workspace = false;
    for (const auto& mount : container.mounts) {
        if (mount.target == k_channel_mount && is_expected(mount, manifest)) continue; // ours, and below the agent's
        if (mount.kind == "tmpfs") continue;
        has_workspace = has_workspace || mount.target == manifest.workdir;
        told.push_back(mount_text(mount.target, !mount.read_write));
        if (!is_expected(mount, manifest)) {
            told.back() += " (" + mount.kind + ", not asked for so)";
            aspect.differs = true;
        }
        const auto* found = inside != nullptr ? mounted_at(*inside, mount.target) : nullptr;
        if (found == nullptr) continue;
        held.push_back(mount_text(found->target, found->read_only));
        aspect.differs = aspect.differs || (!mount.read_write && !found->read_only);
    }
    std::ranges::sort(told);
    std::ranges::sort(held);
    aspect.engine = join(told, ", ");
    if (inside != nullptr && !inside->mounts.empty()) aspect.inside = join(held, ", ");
    aspect.differs = aspect.differs || !has_workspace;
    return aspect;
}

// The size among a tmpfs' options as the engine was given them.
std::string option_size(const std::string& options) {
    for (const auto& option : split(options, ',')) {
        if (option.starts_with("size=")) return option.substr(5);
    }
    return {};
}

// With a read-only root Podman, which alone has the word, keeps these in memory as well; no call of its API leaves them out.
bool is_of_podman(const std::string& path, const std::string& options) {
    return (path == "/tmp" || path == "/run" || path == "/var/tmp") && options.find("tmpcopyup") != std::string::npos && option_size(options).empty();
}

Aspect tmpfs_aspect(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    constexpr std::uint64_t k_default_tmp = 64 * 1000 * 1000;
    auto asked = manifest.tmpfs;
    if (manifest.security.readonly_rootfs) asked.try_emplace("/tmp", k_default_tmp);
    const auto unasked = std::ranges::count_if(container.settings.tmpfs, [&](const auto& one) {
        return !asked.contains(one.first) && !(container.settings.readonly_rootfs && is_of_podman(one.first, one.second));
    });
    Aspect aspect{"tmpfs", {}, {}, {}, unasked > 0};
    std::vector<std::string> wanted;
    std::vector<std::string> told;
    std::vector<std::string> held;
    for (const auto& [path, size] : asked) {
        wanted.push_back(path + " " + size_text(size));
        const auto option = container.settings.tmpfs.find(path);
        aspect.differs = aspect.differs || option == container.settings.tmpfs.end() || option_size(option->second) != std::to_string(size);
        const auto* found = inside != nullptr ? mounted_at(*inside, path) : nullptr;
        if (found == nullptr) continue;
        held.push_back(path + " " + (found->type == "tmpfs" ? shown(found->size, size_text).value_or("no limit") : found->type));
        aspect.differs = aspect.differs || found->type != "tmpfs" || (size > 0 && (!found->size || is_other_size(size, *found->size)));
    }
    for (const auto& [path, options] : container.settings.tmpfs) {
        const std::string size = option_size(options);
        told.push_back(size.empty() ? path : path + " " + size);
    }
    aspect.asked = wanted.empty() ? "none" : join(wanted, ", ");
    aspect.engine = told.empty() ? "none" : join(told, ", ");
    if (!held.empty()) aspect.inside = join(held, ", ");
    return aspect;
}

} // namespace

std::vector<Aspect> compare_isolation(const Manifest& manifest, const ContainerInfo& container, const Inside* inside) {
    return {user_aspect(manifest, container, inside),    capabilities_aspect(manifest, container, inside),
            privileges_aspect(manifest, container, inside), seccomp_aspect(manifest, container, inside),
            rootfs_aspect(manifest, container, inside),  mounts_aspect(manifest, container, inside),
            tmpfs_aspect(manifest, container, inside),   network_aspect(manifest, container, inside),
            memory_aspect(manifest, container, inside),  swap_aspect(manifest, container, inside),
            cpus_aspect(manifest, container, inside),    pids_aspect(manifest, container, inside),
            runtime_aspect(manifest, container),         reach_aspect(container)};
}

Isolation isolation_of(Context& context, const state::SessionRow& row, Depth depth) {
    if (state::is_closed(row.state)) return {{}, "it is gone"};
    auto& engine = context.engine_of(row.endpoint, row.engine_id);
    const auto container = engine.inspect_container(row.container_id.empty() ? row.container_name : row.container_id);
    if (!container) return {{}, "its container is gone"};
    const auto manifest = domain::from_canonical_json(row.manifest_json);
    std::optional<Inside> inside;
    if (depth == Depth::inside) inside = look_inside(engine, *container);
    return {compare_isolation(manifest, *container, inside ? &*inside : nullptr), {}};
}

} // namespace sandbox::app
