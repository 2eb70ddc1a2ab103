// SPDX-License-Identifier: Apache-2.0
#include "engine/answers.hpp"

#include "engine/json_fields.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace sandbox::engine {
namespace {

// Podman has states of its own; both mean what docker's word says.
std::string normal_status(std::string status) {
    if (status == "configured" || status == "initialized") return "created";
    if (status == "stopped") return "exited";
    if (status == "stopping") return "running";
    return status;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (failure != std::errc{} || end != text.data() + text.size() || port == 0) return std::nullopt;
    return port;
}

std::vector<MountInfo> mounts_of(const Json& container) {
    std::vector<MountInfo> mounts;
    for (const Json& mount : field(container, "Mounts")) {
        mounts.push_back({text(mount, "Type"), text(mount, "Name"), text(mount, "Destination"), flag(mount, "RW", true)});
    }
    return mounts;
}

// NetworkSettings.Ports of inspect: {"80/tcp": [{"HostIp": ..., "HostPort": "32768"}], "81/tcp": null}.
void add_ports(const Json& ports, ContainerInfo& info) {
    if (!ports.is_object()) return;
    for (const auto& [key, bindings] : ports.items()) {
        const auto inner = parse_port(std::string_view(key).substr(0, key.find('/')));
        if (!inner || !key.ends_with("/tcp")) continue;
        for (const Json& binding : bindings) {
            if (const auto outer = parse_port(text(binding, "HostPort"))) info.ports.emplace(*inner, *outer);
        }
    }
}

double cpus_of(const Json& host) {
    if (const auto nano = number(host, "NanoCpus"); nano > 0) return static_cast<double>(nano) / 1e9;
    const auto quota = number(host, "CpuQuota");
    const auto period = number(host, "CpuPeriod");
    if (quota <= 0) return 0;
    constexpr double k_kernel_period = 100'000;
    return static_cast<double>(quota) / (period > 0 ? static_cast<double>(period) : k_kernel_period);
}

ContainerSettings settings_of(const Json& config, const Json& host) {
    ContainerSettings settings;
    settings.memory = static_cast<std::uint64_t>(std::max<std::int64_t>(0, number(host, "Memory")));
    settings.memory_swap = number(host, "MemorySwap");
    settings.cpus = cpus_of(host);
    settings.pids = number(host, "PidsLimit");
    settings.readonly_rootfs = flag(host, "ReadonlyRootfs");
    settings.privileged = flag(host, "Privileged");
    settings.auto_remove = flag(host, "AutoRemove");
    settings.cap_add = texts(host, "CapAdd");
    settings.cap_drop = texts(host, "CapDrop");
    settings.security_opt = texts(host, "SecurityOpt");
    settings.runtime = text(host, "Runtime");
    settings.network = text(host, "NetworkMode");
    for (const auto& [key, name] : {std::pair{"PidMode", "pid"}, {"IpcMode", "ipc"}, {"UTSMode", "uts"}, {"UsernsMode", "user"}}) {
        if (text(host, key) == "host") settings.host_namespaces.emplace_back(name);
    }
    settings.tmpfs = text_map(host, "Tmpfs");
    settings.devices = field(host, "Devices").size();
    settings.workdir = text(config, "WorkingDir");
    return settings;
}

ContainerInfo from_list_item(const Json& item) {
    ContainerInfo info;
    info.id = text(item, "Id");
    // A link makes further names such as "/other/alias".
    for (const auto& name : texts(item, "Names")) {
        const std::string plain = name.starts_with('/') ? name.substr(1) : name;
        if (plain.find('/') == std::string::npos) info.name = plain;
    }
    info.image = text(item, "Image");
    info.status = normal_status(text(item, "State"));
    info.running = info.status == "running" || info.status == "paused";
    info.paused = info.status == "paused";
    if (const auto created = number(item, "Created"); created > 0) info.created_at = format_rfc3339(created * 1000);
    info.labels = text_map(item, "Labels");
    info.mounts = mounts_of(item);
    for (const Json& port : field(item, "Ports")) {
        const auto inner = number(port, "PrivatePort");
        const auto outer = number(port, "PublicPort");
        constexpr auto k_max = std::numeric_limits<std::uint16_t>::max();
        if (inner <= 0 || inner > k_max || outer <= 0 || outer > k_max || text(port, "Type") != "tcp") continue;
        info.ports.emplace(static_cast<std::uint16_t>(inner), static_cast<std::uint16_t>(outer));
    }
    return info;
}

bool is_read(std::string_view key) {
    constexpr std::array<std::string_view, 8> k_keys{"Id", "Names", "Image", "State", "Created", "Labels", "Mounts", "Ports"};
    return std::ranges::find(k_keys, key) != k_keys.end();
}

} // namespace

ContainerInfo parse_container(std::string_view body) {
    const Json json = parse_json(body, "inspect");
    const Json& state = field(json, "State");
    const Json& config = field(json, "Config");
    ContainerInfo info;
    info.id = text(json, "Id");
    // Whether a session is gone hangs on this answer, so one without an id is none.
    if (info.id.empty()) throw Error(ErrorCode::protocol_error, "a container without an id");
    info.name = text(json, "Name");
    if (info.name.starts_with('/')) info.name.erase(0, 1);
    info.image = text(config, "Image");
    info.status = normal_status(text(state, "Status"));
    info.running = flag(state, "Running");
    info.paused = flag(state, "Paused");
    info.oom_killed = flag(state, "OOMKilled");
    info.exit_code = static_cast<int>(number(state, "ExitCode"));
    info.error = text(state, "Error");
    info.created_at = text(json, "Created");
    info.finished_at = text(state, "FinishedAt");
    info.user = text(config, "User");
    info.labels = text_map(config, "Labels");
    info.mounts = mounts_of(json);
    info.settings = settings_of(config, field(json, "HostConfig"));
    add_ports(field(field(json, "NetworkSettings"), "Ports"), info);
    return info;
}

std::vector<ContainerInfo> parse_container_list(std::string_view body) {
    std::vector<ContainerInfo> list;
    // One after the other, and without what is not asked for: the tree of a thousand would be most of what ps costs.
    const auto take = [&](int depth, Json::parse_event_t event, Json& item) {
        if (depth == 2 && event == Json::parse_event_t::key) return is_read(item.get_ref<const std::string&>());
        const bool is_whole = event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end || event == Json::parse_event_t::value;
        if (depth != 1 || !is_whole) return true;
        list.push_back(from_list_item(item));
        return false;
    };
    const Json json = parse_json(body, "list", take);
    if (!json.is_array() && !json.is_null()) throw Error(ErrorCode::protocol_error, "a list of containers is no list");
    return list;
}

std::optional<int> parse_exec_status(std::string_view body) {
    const Json json = parse_json(body, "inspect of an exec");
    const Json& running = field(json, "Running");
    const Json& status = field(json, "ExitCode");
    if (!running.is_boolean() || running.get<bool>() || !status.is_number_integer()) return std::nullopt;
    return status.get<int>();
}

} // namespace sandbox::engine
