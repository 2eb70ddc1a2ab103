// SPDX-License-Identifier: Apache-2.0
#include "app/container_spec.hpp"

#include "app/agent_volume.hpp"
#include "app/export_scan.hpp"
#include "domain/labels.hpp"
#include "util/time.hpp"

namespace sandbox::app {
namespace {

constexpr std::uint64_t k_default_tmp = 64 * 1000 * 1000;

engine::Mount workspace_mount(const ContainerParts& parts) {
    engine::Mount mount;
    mount.source = parts.row.volume; // empty: anonymous, so that the engine removes it with the container
    mount.target = parts.manifest.workdir;
    mount.read_only = parts.manifest.workspace.readonly;
    // An engine copies the image's directory, owner and mode included, into any volume that is empty: one that was left
    // empty on purpose would get the image's files again, and take the workspace from the user it was given to.
    mount.no_copy = parts.workspace_has_data;
    mount.volume_labels = session_labels(parts.row, parts.instance, domain::k_role_workspace);
    if (!parts.row.workspace_id.empty()) {
        // An engine makes a volume anew that was pruned a moment ago: it must not look like one that dies with the session.
        mount.volume_labels.erase(domain::k_label_session);
        mount.volume_labels[domain::k_label_workspace] = parts.row.workspace_id;
    }
    return mount;
}

void add_own_mounts(engine::ContainerSpec& spec, const ContainerParts& parts) {
    engine::Mount agent;
    agent.source = parts.agent_volume;
    agent.target = k_agent_mount;
    agent.read_only = true;
    agent.no_copy = true;
    spec.mounts.push_back(agent);
    if (parts.channel_directory.empty()) return;
    engine::Mount channel;
    channel.kind = engine::Mount::Kind::bind;
    channel.source = parts.channel_directory;
    channel.target = k_channel_mount;
    channel.read_only = true;
    spec.mounts.push_back(channel);
}

void add_tmpfs(engine::ContainerSpec& spec, const domain::Manifest& manifest) {
    auto tmpfs = manifest.tmpfs;
    if (manifest.security.readonly_rootfs) tmpfs.try_emplace("/tmp", k_default_tmp);
    for (const auto& [path, size] : tmpfs) {
        engine::Mount mount;
        mount.kind = engine::Mount::Kind::tmpfs;
        mount.target = path;
        mount.tmpfs_size = size;
        spec.mounts.push_back(mount);
    }
}

void add_security(engine::ContainerSpec& spec, const ContainerParts& parts) {
    const auto& security = parts.manifest.security;
    spec.readonly_rootfs = security.readonly_rootfs;
    spec.cap_drop = security.drop_capabilities;
    spec.cap_add = security.add_capabilities;
    spec.runtime = security.runtime;
    if (security.no_new_privileges) spec.security_opt.push_back("no-new-privileges");
    if (security.seccomp == "unconfined") spec.security_opt.push_back("seccomp=unconfined");
    else if (!parts.seccomp_profile.empty()) spec.security_opt.push_back("seccomp=" + parts.seccomp_profile);
}

} // namespace

engine::Labels session_labels(const state::SessionRow& row, const std::string& instance, const std::string& role) {
    engine::Labels labels{{domain::k_label_instance, instance},
                          {domain::k_label_session, row.id},
                          {domain::k_label_owner, row.owner},
                          {domain::k_label_role, role},
                          {domain::k_label_created, format_rfc3339(row.created_ms)},
                          {domain::k_label_expires, format_rfc3339(row.expires_ms)}};
    if (!row.name.empty()) labels[domain::k_label_name] = row.name;
    for (const auto& [key, value] : row.labels) labels[domain::k_label_user_prefix + key] = value;
    return labels;
}

engine::ContainerSpec container_spec(const ContainerParts& parts) {
    const auto& manifest = parts.manifest;
    engine::ContainerSpec spec;
    spec.name = parts.row.container_name;
    spec.image = manifest.image;
    spec.user = manifest.user;
    spec.workdir = manifest.workdir;
    spec.hostname = parts.row.name.empty() ? parts.row.id : parts.row.name;
    spec.entrypoint = {k_agent_path, "init"};
    spec.labels = session_labels(parts.row, parts.instance, domain::k_role_session);
    // Not the command: what a label says to run is never run.
    if (ExportScan(manifest).is_set()) spec.labels[domain::k_label_scan] = "required";
    spec.mounts.push_back(workspace_mount(parts));
    add_own_mounts(spec, parts);
    add_tmpfs(spec, manifest);
    spec.network = parts.network;
    spec.publish = manifest.publish;
    spec.memory = manifest.limits.memory;
    spec.cpus = manifest.limits.cpus;
    spec.pids = manifest.limits.pids;
    spec.auto_remove = manifest.lifecycle.auto_destroy;
    add_security(spec, parts);
    return spec;
}

} // namespace sandbox::app
