// SPDX-License-Identifier: Apache-2.0
#include "app/manifest_recovery.hpp"

#include "app/export_scan.hpp"
#include "domain/labels.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <optional>

namespace sandbox::app {
namespace {

constexpr std::size_t k_max_manifest = 64 << 20; // far over what is accepted at creation; only a bound on what is read

std::string kept_path(const std::string& session_directory) { return session_directory + "/manifest.json"; }

std::uint64_t tmpfs_size(const std::string& options) {
    for (const auto& option : split(options, ',')) {
        if (option.starts_with("size=")) return std::strtoull(option.c_str() + 5, nullptr, 10);
    }
    return 0;
}

bool has(const std::vector<std::string>& options, std::string_view prefix) {
    return std::ranges::any_of(options, [&](const std::string& option) { return option.starts_with(prefix); });
}

void take_security(const engine::ContainerSettings& settings, domain::Security& security) {
    security.readonly_rootfs = settings.readonly_rootfs;
    security.no_new_privileges = has(settings.security_opt, "no-new-privileges");
    security.drop_capabilities = settings.cap_drop;
    security.add_capabilities = settings.cap_add;
    if (has(settings.security_opt, "seccomp=unconfined")) security.seccomp = "unconfined";
}

// As much as the engine still holds the container to.
domain::Manifest manifest_from(const engine::ContainerInfo& container) {
    const auto& settings = container.settings;
    domain::Manifest manifest;
    manifest.name = domain::label(container.labels, domain::k_label_name);
    manifest.image = container.image;
    if (!settings.workdir.empty()) manifest.workdir = settings.workdir;
    manifest.user = container.user;
    manifest.labels = user_labels(container.labels);
    manifest.limits.memory = settings.memory;
    manifest.limits.cpus = settings.cpus;
    manifest.limits.pids = static_cast<std::uint32_t>(std::max<std::int64_t>(0, settings.pids));
    manifest.network = settings.network == "none" ? domain::NetworkMode::none : domain::NetworkMode::bridge;
    for (const auto& [inside, outside] : container.ports) manifest.publish.push_back(inside);
    for (const auto& [path, options] : settings.tmpfs) manifest.tmpfs[path] = tmpfs_size(options);
    manifest.lifecycle.auto_destroy = settings.auto_remove;
    take_security(settings, manifest.security);
    return manifest;
}

RecoveredManifest by_the_engine(const engine::ContainerInfo& container, std::string loss) {
    RecoveredManifest recovered{manifest_from(container), std::move(loss) + ": limits.timeout, limits.maxFile and whatever else the engine does not tell are the defaults from now on"};
    if (domain::label(container.labels, domain::k_label_scan).empty()) return recovered;
    recovered.manifest.extensions_json = lost_scan_json();
    recovered.loss += "; its export.scan is lost too, so no file leaves it";
    return recovered;
}

} // namespace

void keep_manifest(const std::string& session_directory, const std::string& manifest_json) {
    make_directories(session_directory, 0700);
    AtomicFile copy(AT_FDCWD, kept_path(session_directory), 0600);
    write_all(copy.fd(), manifest_json);
    copy.publish();
}

RecoveredManifest recover_manifest(const std::string& session_directory, const engine::ContainerInfo& container) {
    try {
        const auto kept = read_regular_file(kept_path(session_directory), k_max_manifest);
        if (!kept) return by_the_engine(container, "its manifest is lost");
        return {domain::from_canonical_json(*kept), {}};
    } catch (const Error& error) {
        return by_the_engine(container, "its manifest cannot be read (" + split(error.message(), '\n').front() + ")"); // the rest shows the place
    }
}

std::map<std::string, std::string> user_labels(const engine::Labels& labels) {
    std::map<std::string, std::string> found;
    const std::string prefix = domain::k_label_user_prefix;
    for (const auto& [key, value] : labels) {
        if (key.starts_with(prefix)) found.emplace(key.substr(prefix.size()), value);
    }
    return found;
}

} // namespace sandbox::app
