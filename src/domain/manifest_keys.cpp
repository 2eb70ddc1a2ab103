// SPDX-License-Identifier: Apache-2.0
// The table of keys, and the flag that follows from a path.
#include "domain/manifest_keys.hpp"

#include <array>
#include <cctype>

namespace sandbox::domain {
namespace {

using enum KeyType;
using Rule = CeilingRule;

constexpr std::uint64_t k_least_memory = 6ULL << 20; // what the engine itself asks for
constexpr std::uint64_t k_many = 2'147'483'647;

constexpr std::array k_keys = {
    ManifestKey{"version", count, "Version of the manifest's format", "1", "", "1", 1, 1},
    ManifestKey{"name", text, "Name of the session, unique within its owner", "", "", "job-981"},
    ManifestKey{"image", text, "Image that the session's container is made from", "", "", "sandbox/base:latest"},
    ManifestKey{"pull", choice, "When to pull the image", "missing", "missing|always|never", "never"},
    ManifestKey{"workdir", text, "Where the workspace is mounted and commands start", "/workspace", "", "/workspace"},
    ManifestKey{"user", text, "User that commands run as: NAME or UID, with :GROUP", "", "", "\"1000:1000\""},
    ManifestKey{"workspace", text, "Persistent workspace by its name, or the map below", "", "", "project-42"},
    ManifestKey{"workspace.mode", choice, "Whether the workspace ends with the session", "ephemeral",
                "ephemeral|persistent", "persistent"},
    ManifestKey{"workspace.id", text, "Name of the persistent workspace, unique within its owner", "", "", "project-42"},
    ManifestKey{"workspace.destroyOnSessionDestroy", boolean, "Remove the persistent workspace with the session",
                "false", "", "true"},
    ManifestKey{"workspace.shared", boolean, "Let several sessions use the workspace at once", "false", "", "true"},
    ManifestKey{"workspace.readonly", boolean, "Mount the workspace read-only", "false", "", "true"},
    ManifestKey{"workspace.create", boolean, "Make the workspace when it is not there yet", "true", "", "false"},
    ManifestKey{"labels", map, "Labels to select sessions by (metadata is the same key)", "", "", "{jobId: \"981\"}"},
    ManifestKey{"env", map, "Environment variables: NAME to text, {fromEnv: NAME} or {fromFile: PATH}", "", "",
                "{REPORT_LOCALE: de, API_TOKEN: {fromEnv: API_TOKEN}}"},
    ManifestKey{"directories", list, "Directories to make: PATH or {path: PATH, mode: \"0700\"}", "", "",
                "[output, {path: cache, mode: \"0700\"}]"},
    ManifestKey{"files", map,
                "What the workspace starts with: PATH to text or {text, base64, fromFile, fromDir, fromArchive, "
                "fromGit, symlink}",
                "", "", "{input/ticket.txt: \"text as it is\", src: {fromDir: ./src, exclude: [\".git\"]}}"},
    ManifestKey{"limits.timeout", duration, "Default time-out of each exec (0 is none)", "0", "", "20s", 0, 0, Rule::maximum},
    ManifestKey{"limits.maxOutput", size, "Bytes captured of each output stream", "64KB", "", "64KB", 0, 0, Rule::maximum},
    ManifestKey{"limits.maxFile", size, "Biggest file that may be copied, read or written", "", "", "256KB", 0, 0, Rule::maximum},
    ManifestKey{"limits.memory", size, "Memory of the whole session", "1GiB", "", "512MB", k_least_memory, 0, Rule::maximum},
    ManifestKey{"limits.cpus", number, "Processors, fractions allowed", "1", "", "0.5", 0, 512, Rule::maximum},
    ManifestKey{"limits.pids", count, "Processes and threads of the whole session", "256", "", "64", 1, 4'194'304, Rule::maximum},
    ManifestKey{"limits.maxProcesses", count, "Managed processes that may run at once", "4", "", "2", 0, 1024, Rule::maximum},
    ManifestKey{"network", choice, "Network of the session", "none", "none|bridge", "bridge", 0, 0, Rule::choice},
    ManifestKey{"publish", list, "Ports to open on the host's loopback, at a port the engine chooses", "", "", "[5173]"},
    ManifestKey{"tmpfs", map, "Memory file systems: absolute path to size", "", "", "{/tmp: 64MB}"},
    ManifestKey{"security.readonlyRootfs", boolean, "Mount the image's root file system read-only", "false", "", "true", 0, 0,
                Rule::required},
    ManifestKey{"security.noNewPrivileges", boolean, "Keep set-user-ID programs from gaining privileges", "true", "", "true",
                0, 0, Rule::required},
    ManifestKey{"security.dropCapabilities", list, "Capabilities to take away", "ALL", "", "[ALL]", 0, 0, Rule::contains},
    ManifestKey{"security.addCapabilities", list, "Capabilities to give", "", "", "[NET_BIND_SERVICE]", 0, 0, Rule::only},
    ManifestKey{"security.seccomp", text, "Seccomp profile: default, unconfined, or a file", "default", "", "default", 0, 0,
                Rule::same},
    ManifestKey{"security.runtime", text, "Runtime of the engine, such as runc or runsc", "", "", "runsc", 0, 0, Rule::same},
    ManifestKey{"lifecycle.ttl", duration, "How long the session lives at most", "1h", "", "30m", 0, 0, Rule::maximum},
    ManifestKey{"lifecycle.idleTimeout", duration, "How long it lives without being used (0 is for ever)", "30m", "", "5m", 0, 0,
                Rule::maximum},
    ManifestKey{"lifecycle.autoDestroy", boolean, "Remove it at its deadline, not only stop it", "true", "", "false", 0, 0,
                Rule::required},
    ManifestKey{"checkpoint.store", text, "Where checkpoints go: dir:PATH, or a postgres:// or s3:// address", "dir:", "",
                "\"dir:\""},
    ManifestKey{"checkpoint.retain", text, "How many checkpoints to keep, or all", "3", "", "3"},
    ManifestKey{"checkpoint.durable", boolean, "Refuse a store that is lost with this host", "false", "", "false"},
    ManifestKey{"export.files", map, "Workspace paths to copy out, and where to", "", "", "{output/report.md: ./report.md}"},
    ManifestKey{"export.optional", list, "Workspace paths whose absence is no failure", "", "", "[coverage]"},
    ManifestKey{"export.scan", list, "Command that sees each file before it leaves; status 0 lets it pass", "", "",
                "[clamscan, \"-\"]", 1},
    ManifestKey{"policy.allow", list, "Tools that are offered to an agent", "", "", "[exec_command, read_file]"},
    ManifestKey{"policy.exec.allowedCommands", list, "Commands that may run, all others may not", "", "", "[npm, node]"},
    ManifestKey{"policy.exec.blockedCommands", list, "Commands that may not run", "", "", "[curl]"},
    ManifestKey{"policy.exec.defaultTimeout", duration, "Time-out of a command that names none", "", "", "30s"},
    ManifestKey{"policy.exec.maxTimeout", duration, "Longest time-out that may be asked for", "", "", "5m"},
    ManifestKey{"policy.exec.maxBytes", size, "Bytes of output returned for each stream", "", "", "64KB"},
    ManifestKey{"policy.files.maxBytes", size, "Biggest file that may be read or written", "", "", "1MB"},
    ManifestKey{"policy.files.defaultLines", count, "Lines of a file returned when none are asked for", "", "", "200", 1, k_many},
    ManifestKey{"policy.files.maxLines", count, "Most lines of a file returned at once", "", "", "2000", 1, k_many},
    ManifestKey{"policy.logs.maxBytes", size, "Bytes of a process's log returned at once", "", "", "64KB"},
    ManifestKey{"policy.logs.defaultLines", count, "Lines of a log returned when none are asked for", "", "", "100", 1, k_many},
    ManifestKey{"policy.logs.maxLines", count, "Most lines of a log returned at once", "", "", "1000", 1, k_many},
    ManifestKey{"policy.processes.grace", duration, "Time between TERM and KILL when a process is stopped", "", "", "5s"},
};

constexpr std::array k_entry_keys = {
    ManifestKey{"env.*.fromEnv", text, "Variable of the host that the value is taken from", "", "", "API_TOKEN"},
    ManifestKey{"env.*.fromFile", text, "File of the host that holds the value", "", "", "./token"},
    ManifestKey{"env.*.base64", text, "The value in base64, for bytes that are not text", "", "", "aGVsbG8="},
    ManifestKey{"directories.*.path", text, "The directory, relative to the workspace", "", "", "cache"},
    ManifestKey{"directories.*.mode", text, "Its permissions in octal", "", "", "\"0700\""},
    ManifestKey{"files.*.text", text, "The file's content", "", "", "\"#!/bin/sh\\necho hello\\n\""},
    ManifestKey{"files.*.base64", text, "The file's content in base64", "", "", "aGVsbG8="},
    ManifestKey{"files.*.fromFile", text, "File of the host", "", "", "data.csv"},
    ManifestKey{"files.*.fromDir", text, "Directory of the host, taken with all that is in it", "", "", "./src"},
    ManifestKey{"files.*.fromArchive", text, "tar archive of the host that is unpacked there", "", "", "vendor.tar.zst"},
    ManifestKey{"files.*.fromGit", text, "Repository (https, ssh or a local path) that is cloned there", "", "",
                "\"https://example.com/project.git\""},
    ManifestKey{"files.*.symlink", text, "What a symbolic link points to", "", "", "output/1"},
    ManifestKey{"files.*.mode", text, "Permissions of a file in octal", "", "", "\"0755\""},
    ManifestKey{"files.*.exclude", list, "Names or patterns that fromDir leaves out", "", "", "[\".git\", node_modules]"},
    ManifestKey{"files.*.ref", text, "Branch, tag or commit of fromGit", "", "", "main"},
};

// Composite sections: the last segments of what is below them are not unique over the manifest.
bool has_no_flag(std::string_view path) {
    return path == "version" || path.starts_with("workspace.") || path.starts_with("checkpoint.") ||
           path.starts_with("export.") || path.starts_with("policy.");
}

} // namespace

std::span<const ManifestKey> manifest_keys() {
    return k_keys;
}

std::span<const ManifestKey> manifest_entry_keys() {
    return k_entry_keys;
}

std::vector<std::string> entry_key_names(std::string_view path) {
    std::vector<std::string> names;
    for (const ManifestKey& key : k_entry_keys) {
        if (key.path.substr(0, key.path.find('.')) == path) names.emplace_back(key.path.substr(key.path.rfind('.') + 1));
    }
    return names;
}

std::optional<std::string> flag_of(const ManifestKey& key) {
    if (has_no_flag(key.path)) return std::nullopt;
    std::string flag = "--";
    for (const char c : key.path.substr(key.path.rfind('.') + 1)) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isupper(byte) != 0) flag += '-';
        flag += static_cast<char>(std::tolower(byte));
    }
    return flag;
}

} // namespace sandbox::domain
