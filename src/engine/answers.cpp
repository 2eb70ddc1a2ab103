// SPDX-License-Identifier: Apache-2.0
#include "engine/answers.hpp"

#include "engine/json_fields.hpp"

#include <algorithm>

namespace sandbox::engine {
namespace {

VolumeInfo volume_from(const Json& json) {
    return {text(json, "Name"), text(json, "CreatedAt"), text_map(json, "Labels")};
}

// docker says x86_64 in /info and amd64 elsewhere, Podman amd64 everywhere.
std::string kernel_architecture(const std::string& name) {
    if (name == "amd64") return "x86_64";
    if (name == "arm64") return "aarch64";
    return name;
}

std::optional<bool> flag_if_said(const Json& json, const char* name) {
    const Json& value = field(json, name);
    if (!value.is_boolean()) return std::nullopt;
    return value.get<bool>();
}

// What only somebody who looks at the engine itself wants to know.
void add_abilities(const Json& json, EngineInfo& info) {
    info.name = text(json, "Name");
    info.storage_driver = text(json, "Driver");
    info.root_directory = text(json, "DockerRootDir");
    info.cgroup_driver = text(json, "CgroupDriver");
    info.log_driver = text(json, "LoggingDriver");
    info.security_options = texts(json, "SecurityOptions");
    const Json& runtimes = field(json, "Runtimes");
    if (runtimes.is_object()) {
        for (const auto& [name, how] : runtimes.items()) info.runtimes.push_back(name);
    }
    info.memory_limit = flag_if_said(json, "MemoryLimit");
    info.swap_limit = flag_if_said(json, "SwapLimit");
    info.cpu_quota = flag_if_said(json, "CpuCfsQuota");
    info.pids_limit = flag_if_said(json, "PidsLimit");
    info.oom_kill_disable = flag_if_said(json, "OomKillDisable");
    info.live_restore = flag_if_said(json, "LiveRestoreEnabled");
}

void add_limit_warning(const Json& json, const char* key, const char* limit, EngineInfo& info) {
    const bool known = field(json, key).is_boolean();
    if (known && !flag(json, key)) info.warnings.push_back(std::string("the engine does not enforce ") + limit);
}

} // namespace

Created parse_created(std::string_view body) {
    const Json json = parse_json(body, "create");
    Created created{text(json, "Id"), texts(json, "Warnings")};
    if (created.id.empty()) throw Error(ErrorCode::protocol_error, "an object was created without an id");
    return created;
}

VolumeInfo parse_volume(std::string_view body) {
    VolumeInfo info = volume_from(parse_json(body, "inspect of a volume"));
    if (info.name.empty()) throw Error(ErrorCode::protocol_error, "a volume without a name");
    return info;
}

std::vector<VolumeInfo> parse_volume_list(std::string_view body) {
    std::vector<VolumeInfo> list;
    const Json json = parse_json(body, "list of volumes");
    if (!json.is_object()) throw Error(ErrorCode::protocol_error, "a list of volumes is no object");
    for (const Json& item : field(json, "Volumes")) list.push_back(volume_from(item));
    return list;
}

ImageInfo parse_image(std::string_view body) {
    const Json json = parse_json(body, "inspect of an image");
    const Json& config = field(json, "Config");
    ImageInfo info;
    info.id = text(json, "Id");
    if (info.id.empty()) throw Error(ErrorCode::protocol_error, "an image without an id");
    info.architecture = kernel_architecture(text(json, "Architecture"));
    info.user = text(config, "User");
    info.size = number(json, "Size");
    info.env = texts(config, "Env");
    info.layers = texts(field(json, "RootFS"), "Layers");
    const Json& volumes = field(config, "Volumes");
    if (volumes.is_object()) {
        for (const auto& [path, nothing] : volumes.items()) info.volumes.push_back(path);
    }
    return info;
}

NetworkInfo parse_network(std::string_view body) {
    const Json json = parse_json(body, "inspect of a network");
    return {text(json, "Id"), text(json, "Name"), text_map(json, "Options")};
}

EngineInfo parse_info(std::string_view body) {
    const Json json = parse_json(body, "info");
    EngineInfo info;
    info.id = text(json, "ID");
    // Podman invents a new ID for each answer; its name and storage directory are what stays.
    info.drops_volume_labels = field(json, "BuildahVersion").is_string();
    if (info.drops_volume_labels) info.id = "podman:" + text(json, "Name") + ":" + text(json, "DockerRootDir");
    if (info.id.empty()) throw Error(ErrorCode::protocol_error, "an engine without an ID");
    info.version = text(json, "ServerVersion");
    info.system_time = text(json, "SystemTime");
    info.architecture = kernel_architecture(text(json, "Architecture"));
    info.default_runtime = text(json, "DefaultRuntime");
    info.cgroup_version = text(json, "CgroupVersion");
    add_abilities(json, info);
    info.rootless = flag(json, "Rootless") || std::ranges::any_of(info.security_options, [](const std::string& option) {
                        return option.starts_with("name=rootless");
                    });
    info.warnings = texts(json, "Warnings");
    add_limit_warning(json, "MemoryLimit", "memory limits", info);
    add_limit_warning(json, "PidsLimit", "limits of processes", info);
    add_limit_warning(json, "CpuCfsQuota", "CPU limits", info);
    if (info.rootless && info.cgroup_version == "1") {
        info.warnings.emplace_back("a rootless engine on cgroup v1 enforces no limits");
    }
    return info;
}

VersionAnswer parse_version(std::string_view body) {
    const Json json = parse_json(body, "version");
    return {text(json, "Version"), text(json, "ApiVersion"), text(json, "MinAPIVersion")};
}

ProgressItem parse_progress(std::string_view object) {
    const Json json = parse_json(object, "pull");
    ProgressItem item{text(json, "id"), text(json, "status"), text(json, "error")};
    if (item.error.empty()) item.error = text(field(json, "errorDetail"), "message");
    // An error in a shape that is not known yet is still one.
    const bool says_error = !field(json, "error").is_null() || !field(json, "errorDetail").is_null();
    if (says_error && item.error.empty()) item.error = "unknown error";
    return item;
}

std::optional<std::string> parse_error_message(std::string_view body) {
    const Json json = Json::parse(body, nullptr, false);
    const Json& message = field(json, "message"); // of a discarded value too: it is no object
    if (!message.is_string()) return std::nullopt;
    return message.get<std::string>();
}

} // namespace sandbox::engine
