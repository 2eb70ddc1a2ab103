// SPDX-License-Identifier: Apache-2.0
#include "engine/requests.hpp"

#include "util/error.hpp"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace sandbox::engine {
namespace {

using Json = nlohmann::json;

std::string dump(const Json& json) {
    try {
        return json.dump();
    } catch (const Json::exception&) {
        throw Error(ErrorCode::usage, "a value for the engine is not valid UTF-8");
    }
}

Json mount_json(const Mount& mount) {
    Json json{{"Target", mount.target}, {"ReadOnly", mount.read_only}};
    if (mount.kind == Mount::Kind::bind) {
        json["Type"] = "bind";
        json["Source"] = mount.source;
        return json;
    }
    json["Type"] = "volume";
    if (!mount.source.empty()) json["Source"] = mount.source;
    json["VolumeOptions"] = {{"NoCopy", mount.no_copy}, {"Labels", mount.volume_labels}};
    return json;
}

// By HostConfig.Tmpfs, as Mounts cannot say exec, and docker's default of noexec breaks build tools that run what they
// wrote to /tmp.
std::string tmpfs_options(const Mount& mount) {
    std::string options = mount.read_only ? "ro" : "rw";
    options += ",nosuid,nodev,exec";
    if (mount.tmpfs_size > 0) options += ",size=" + std::to_string(mount.tmpfs_size);
    char mode[16];
    std::snprintf(mode, sizeof mode, ",mode=%o", mount.tmpfs_mode);
    return options + mode;
}

void add_mounts(const ContainerSpec& spec, Json& host) {
    Json mounts = Json::array();
    Json tmpfs = Json::object();
    for (const auto& mount : spec.mounts) {
        if (mount.kind == Mount::Kind::tmpfs) tmpfs[mount.target] = tmpfs_options(mount);
        else mounts.push_back(mount_json(mount));
    }
    host["Mounts"] = mounts;
    host["Tmpfs"] = tmpfs;
}

void add_limits(const ContainerSpec& spec, Json& host) {
    if (spec.memory > 0) {
        host["Memory"] = spec.memory;
        host["MemorySwap"] = spec.memory; // memory and swap together: no swap on top
    }
    if (spec.cpus > 0) host["NanoCpus"] = std::llround(spec.cpus * 1e9);
    if (spec.pids > 0) host["PidsLimit"] = spec.pids;
}

void add_ports(const ContainerSpec& spec, Json& config, Json& host) {
    Json exposed = Json::object();
    Json bindings = Json::object();
    for (const auto port : spec.publish) {
        const std::string key = std::to_string(port) + "/tcp";
        exposed[key] = Json::object();
        bindings[key] = Json::array({{{"HostIp", "127.0.0.1"}, {"HostPort", ""}}});
    }
    config["ExposedPorts"] = exposed;
    host["PortBindings"] = bindings;
}

Json host_config(const ContainerSpec& spec) {
    Json host{
        {"AutoRemove", spec.auto_remove},
        {"CapAdd", spec.cap_add},
        {"CapDrop", spec.cap_drop},
        {"Init", false},
        {"LogConfig", {{"Type", "none"}, {"Config", Json::object()}}},
        {"NetworkMode", spec.network.empty() ? "none" : spec.network},
        {"ReadonlyRootfs", spec.readonly_rootfs},
        {"RestartPolicy", {{"Name", "no"}}},
        {"SecurityOpt", spec.security_opt},
    };
    if (!spec.runtime.empty()) host["Runtime"] = spec.runtime;
    add_mounts(spec, host);
    add_limits(spec, host);
    return host;
}

} // namespace

std::string create_container_body(const ContainerSpec& spec) {
    // An engine puts the image's own ENTRYPOINT or CMD where it is given none (Podman also for an empty list), so the
    // program always goes into Entrypoint.
    std::vector<std::string> entrypoint = spec.entrypoint;
    std::vector<std::string> command = spec.command;
    if (entrypoint.empty() && !command.empty()) {
        entrypoint.push_back(command.front());
        command.erase(command.begin());
    }
    Json host = host_config(spec);
    Json config{
        {"Image", spec.image},
        {"User", spec.user},
        {"WorkingDir", spec.workdir},
        {"Hostname", spec.hostname},
        {"Entrypoint", entrypoint},
        {"Cmd", command},
        {"Env", spec.env},
        {"Labels", spec.labels},
        {"OpenStdin", spec.open_stdin},
        {"Tty", false},
        {"NetworkDisabled", false},
        {"Healthcheck", {{"Test", {"NONE"}}}},
        {"StopSignal", "SIGTERM"}, // not the image's
        {"StopTimeout", 1},
    };
    add_ports(spec, config, host);
    config["HostConfig"] = std::move(host);
    return dump(config);
}

std::string create_volume_body(std::string_view name, const Labels& labels) {
    return dump({{"Name", name}, {"Driver", "local"}, {"Labels", labels}});
}

std::string create_network_body(std::string_view name, const std::map<std::string, std::string>& options,
                                const Labels& labels) {
    return dump({{"Name", name}, {"CheckDuplicate", true}, {"Driver", "bridge"}, {"Options", options}, {"Labels", labels}});
}

std::string create_exec_body(const Client::ExecSpec& spec) {
    Json json{
        {"AttachStdin", spec.attach_stdin}, {"AttachStdout", true}, {"AttachStderr", true},
        {"Tty", spec.tty},                  {"Cmd", spec.argv},     {"Env", spec.env},
    };
    if (!spec.user.empty()) json["User"] = spec.user;
    if (!spec.workdir.empty()) json["WorkingDir"] = spec.workdir;
    return dump(json);
}

std::string start_exec_body(bool tty) { return dump({{"Detach", false}, {"Tty", tty}}); }

std::string filters_json(const Filter& filter) {
    Json json = Json::object();
    for (const auto& [key, value] : filter.labels) json["label"].push_back(value.empty() ? key : key + "=" + value);
    if (!filter.volume.empty()) json["volume"].push_back(filter.volume);
    if (!filter.name.empty()) json["name"].push_back(filter.name);
    if (json.empty()) throw Error(ErrorCode::internal, "a list of engine objects without a filter");
    return dump(json);
}

std::string registry_auth_json(const Credentials& credentials) {
    Json json{{"serveraddress", credentials.server}};
    if (!credentials.identity_token.empty()) {
        json["identitytoken"] = credentials.identity_token;
    } else {
        json["username"] = credentials.username;
        json["password"] = credentials.password;
    }
    return dump(json);
}

} // namespace sandbox::engine
