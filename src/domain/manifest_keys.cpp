// SPDX-License-Identifier: Apache-2.0
// The table of keys, and the two names that follow from a path: the flag, and the section it stands in.
#include "domain/manifest.hpp"

#include <array>
#include <cctype>

namespace sandbox::domain {
namespace {

using enum KeyType;

constexpr std::array k_keys = {
    ManifestKey{"version", count, "Version of the manifest's format", "1", ""},
    ManifestKey{"name", text, "Name of the session, unique within its owner", "", ""},
    ManifestKey{"image", text, "Image that the session's container is made from", "", ""},
    ManifestKey{"pull", choice, "When to pull the image", "missing", "missing|always|never"},
    ManifestKey{"workdir", text, "Where the workspace is mounted and commands start", "/workspace", ""},
    ManifestKey{"user", text, "User that commands run as: NAME or UID, with :GROUP", "", ""},
    ManifestKey{"workspace", text, "Persistent workspace by its name, or the map below", "", ""},
    ManifestKey{"workspace.mode", choice, "Whether the workspace ends with the session", "ephemeral",
                "ephemeral|persistent"},
    ManifestKey{"workspace.id", text, "Name of the persistent workspace, unique within its owner", "", ""},
    ManifestKey{"workspace.destroyOnSessionDestroy", boolean, "Remove the persistent workspace with the session",
                "false", ""},
    ManifestKey{"workspace.shared", boolean, "Let several sessions use the workspace at once", "false", ""},
    ManifestKey{"workspace.readonly", boolean, "Mount the workspace read-only", "false", ""},
    ManifestKey{"workspace.create", boolean, "Make the workspace when it is not there yet", "true", ""},
    ManifestKey{"labels", map, "Labels to select sessions by (metadata is the same key)", "", ""},
    ManifestKey{"env", map, "Environment: NAME to text, {fromEnv: NAME} or {fromFile: PATH}", "", ""},
    ManifestKey{"directories", list, "Directories to make: PATH or {path: PATH, mode: \"0700\"}", "", ""},
    ManifestKey{"files", map,
                "What the workspace starts with: PATH to text or {text, base64, fromFile, fromDir, fromArchive, "
                "fromGit, symlink}",
                "", ""},
    ManifestKey{"limits.timeout", duration, "Default time-out of each exec (0 is none)", "0", ""},
    ManifestKey{"limits.maxOutput", size, "Bytes captured of each output stream", "64KB", ""},
    ManifestKey{"limits.maxFile", size, "Biggest file that may be copied", "", ""},
    ManifestKey{"limits.memory", size, "Memory of the whole session", "1GiB", ""},
    ManifestKey{"limits.cpus", number, "Processors, fractions allowed", "1", ""},
    ManifestKey{"limits.pids", count, "Processes and threads of the whole session", "256", ""},
    ManifestKey{"limits.maxProcesses", count, "Managed processes that may run at once", "4", ""},
    ManifestKey{"network", choice, "Network of the session", "none", "none|bridge"},
    ManifestKey{"publish", list, "Ports to open on the host's loopback, at a port the engine chooses", "", ""},
    ManifestKey{"tmpfs", map, "Memory file systems: absolute path to size", "", ""},
    ManifestKey{"security.readonlyRootfs", boolean, "Mount the image's root file system read-only", "false", ""},
    ManifestKey{"security.noNewPrivileges", boolean, "Keep set-user-ID programs from gaining privileges", "true", ""},
    ManifestKey{"security.dropCapabilities", list, "Capabilities to take away", "ALL", ""},
    ManifestKey{"security.addCapabilities", list, "Capabilities to give", "", ""},
    ManifestKey{"security.seccomp", text, "Seccomp profile: default, unconfined, or a file", "default", ""},
    ManifestKey{"security.runtime", text, "Runtime of the engine, such as runc or runsc", "", ""},
    ManifestKey{"lifecycle.ttl", duration, "How long the session lives at most", "1h", ""},
    ManifestKey{"lifecycle.idleTimeout", duration, "How long it lives without being used (0 is for ever)", "30m", ""},
    ManifestKey{"lifecycle.autoDestroy", boolean, "Remove it at its deadline, not only stop it", "true", ""},
    ManifestKey{"checkpoint.store", text, "Where checkpoints go: dir:PATH, or a postgres:// or s3:// address", "dir:", ""},
    ManifestKey{"checkpoint.retain", text, "How many checkpoints to keep, or all", "3", ""},
    ManifestKey{"checkpoint.durable", boolean, "Refuse a store that is lost with this host", "false", ""},
    ManifestKey{"export.files", map, "Workspace paths to copy out, and where to", "", ""},
    ManifestKey{"export.optional", list, "Workspace paths whose absence is no failure", "", ""},
    ManifestKey{"export.scan", list, "Command that sees each file before it leaves; status 0 lets it pass", "", ""},
    ManifestKey{"policy.allow", list, "Tools that are offered to an agent", "", ""},
    ManifestKey{"policy.exec.allowedCommands", list, "Commands that may run, all others may not", "", ""},
    ManifestKey{"policy.exec.blockedCommands", list, "Commands that may not run", "", ""},
    ManifestKey{"policy.exec.defaultTimeout", duration, "Time-out of a command that names none", "", ""},
    ManifestKey{"policy.exec.maxTimeout", duration, "Longest time-out that may be asked for", "", ""},
    ManifestKey{"policy.exec.maxBytes", size, "Bytes of output returned for each stream", "", ""},
    ManifestKey{"policy.files.maxBytes", size, "Biggest file that may be read or written", "", ""},
    ManifestKey{"policy.files.defaultLines", count, "Lines of a file returned when none are asked for", "", ""},
    ManifestKey{"policy.files.maxLines", count, "Most lines of a file returned at once", "", ""},
    ManifestKey{"policy.logs.maxBytes", size, "Bytes of a process's log returned at once", "", ""},
    ManifestKey{"policy.logs.defaultLines", count, "Lines of a log returned when none are asked for", "", ""},
    ManifestKey{"policy.logs.maxLines", count, "Most lines of a log returned at once", "", ""},
    ManifestKey{"policy.processes.grace", duration, "Time between TERM and KILL when a process is stopped", "", ""},
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
