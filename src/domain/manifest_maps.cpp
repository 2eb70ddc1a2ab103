// SPDX-License-Identifier: Apache-2.0
// The keys whose value is a map or a list of small things: env, labels, tmpfs, publish, capabilities.
#include "domain/manifest_decode.hpp"
#include "domain/manifest_paths.hpp"
#include "domain/names.hpp"
#include "domain/shown.hpp"

#include "util/format.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace sandbox::domain {
namespace {

// Of capabilities(7); what an older kernel does not know, its engine refuses by name.
constexpr std::array<std::string_view, 42> k_capabilities{
    "ALL", "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "BPF", "CHECKPOINT_RESTORE", "CHOWN",
    "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE",
    "LINUX_IMMUTABLE", "MAC_ADMIN", "MAC_OVERRIDE", "MKNOD", "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST",
    "NET_RAW", "PERFMON", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYSLOG", "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT",
    "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG",
    "WAKE_ALARM"};

std::string read_capability(const Field& field) {
    std::string name = read_word(field);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (name.starts_with("CAP_")) name.erase(0, 4);
    if (std::find(k_capabilities.begin(), k_capabilities.end(), name) != k_capabilities.end()) return name;
    const std::vector<std::string> known(k_capabilities.begin(), k_capabilities.end());
    const auto near = nearest(name, known);
    throw field.error(formatted("unknown capability \"{}\"{}", shown(name),
                                  near ? formatted("; did you mean \"{}\"?", *near) : std::string()));
}

// A literal that is not UTF-8, which a flag may bring and JSON cannot hold.
EnvValue read_base64(const Field& field) {
    auto bytes = base64_decode(read_scalar(field));
    if (!bytes || bytes->find('\0') != std::string::npos) throw field.error("not base64 of a value without NUL");
    return {EnvValue::Kind::literal, *std::move(bytes)};
}

EnvValue read_reference(const Field& field, const DecodeContext& context) {
    check_known(field, entry_key_names("env"));
    if (field.node.entries.size() != 1) throw field.error("give one of fromEnv, fromFile and base64");
    if (const auto* base64 = field.node.find("base64")) return read_base64(entry_of(field, *base64));
    const auto* from_env = field.node.find("fromEnv");
    const auto* from_file = field.node.find("fromFile");
    if (from_env != nullptr) {
        const Field name = entry_of(field, *from_env);
        std::string variable = read_word(name);
        at_field(name, [&] { check_env_name(variable); });
        return {EnvValue::Kind::from_env, std::move(variable)};
    }
    const Field path = entry_of(field, *from_file);
    return {EnvValue::Kind::from_file, resolve_host_path(path, read_scalar(path, "a path"), context.allowed_paths)};
}

std::uint16_t read_port(const Field& field) {
    std::string text = read_scalar(field, "a port");
    if (text.find(':') != std::string::npos) {
        throw field.error(formatted("\"{}\" names a port of the host", shown(text)))
            .hint("give the session's port alone: the engine chooses a free one on the host's loopback, "
                  "and sandbox inspect shows it");
    }
    if (text.ends_with("/tcp")) text.resize(text.size() - 4);
    std::uint16_t port = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (failure == std::errc() && end == text.data() + text.size() && port > 0) return port;
    throw field.error(formatted("\"{}\" is not a TCP port from 1 to 65535", shown(text)));
}

void read_env_entry(const Field& value, const YamlNode::Entry& entry, Manifest& manifest, const DecodeContext& context) {
    try {
        check_env_name(entry.key);
    } catch (const Error& failure) {
        throw located(entry.mark, failure.message()).hint(failure.hint());
    }
    if (value.node.is(YamlNode::Kind::map)) {
        manifest.env[entry.key] = read_reference(value, context);
        return;
    }
    if (value.node.is(YamlNode::Kind::null)) throw value.error("no value").hint("the empty value is written \"\"");
    const std::string& text = read_scalar(value, "text or a reference");
    if (text.find('\0') != std::string::npos) throw value.error("a NUL byte cannot be in the environment");
    manifest.env[entry.key] = {EnvValue::Kind::literal, text};
}

// Calls `read` with the field of each entry or element.
template <typename Read> void each_entry(const Field& field, const DecodeContext& context, Read read) {
    require_map(field);
    for (const auto& entry : field.node.entries) {
        attempt(context, field.path, [&] { read(entry_of(field, entry), entry); });
    }
}

template <typename Read> void each_item(const Field& field, const DecodeContext& context, Read read) {
    require_list(field);
    for (std::size_t i = 0; i < field.node.items.size(); ++i) {
        attempt(context, field.path, [&] { read(element_of(field, i)); });
    }
}

} // namespace

void read_env(const Field& field, Manifest& manifest, const DecodeContext& context) {
    each_entry(field, context, [&](const Field& value, const YamlNode::Entry& entry) {
        read_env_entry(value, entry, manifest, context);
    });
}

void read_labels(const Field& field, Manifest& manifest, const DecodeContext& context) {
    each_entry(field, context, [&](const Field& value, const YamlNode::Entry& entry) {
        const std::string& text = read_scalar(value);
        at_field(value, [&] { check_label(entry.key, text); });
        manifest.labels[entry.key] = text;
    });
}

void read_tmpfs(const Field& field, Manifest& manifest, const DecodeContext& context) {
    each_entry(field, context, [&](const Field& value, const YamlNode::Entry& entry) {
        const std::string path = at_field(value, [&] { return normalise_container_path(entry.key); });
        // A size of 0 is no limit to the kernel, which would be all of the host's memory.
        const std::uint64_t bytes = read_size(value, 1);
        if (!manifest.tmpfs.emplace(path, bytes).second) throw value.error("this path is given twice");
    });
}

void read_publish(const Field& field, Manifest& manifest, const DecodeContext& context) {
    each_item(field, context, [&](const Field& item) {
        const std::uint16_t port = read_port(item);
        if (std::find(manifest.publish.begin(), manifest.publish.end(), port) != manifest.publish.end()) {
            throw item.error(formatted("port {} is given twice", port));
        }
        manifest.publish.push_back(port);
    });
}

std::vector<std::string> read_capabilities(const Field& field, const DecodeContext& context) {
    std::vector<std::string> names;
    each_item(field, context, [&](const Field& item) { names.push_back(read_capability(item)); });
    return names;
}

} // namespace sandbox::domain
