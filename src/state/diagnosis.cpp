// SPDX-License-Identifier: Apache-2.0
#include "state/diagnosis.hpp"

#include "state/directory.hpp"
#include "state/instance.hpp"
#include "state/schema.hpp"
#include "util/error.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace sandbox::state {
namespace {

struct FileSystem {
    std::uint32_t magic;
    const char* name;
    bool is_remote;
};

// statfs(2).
constexpr std::array k_file_systems{
    FileSystem{0x6969, "nfs", true},        FileSystem{0xff534d42, "cifs", true},   FileSystem{0xfe534d42, "smb2", true},
    FileSystem{0x517b, "smb", true},        FileSystem{0x65735546, "fuse", true},   FileSystem{0x01021997, "9p", true},
    FileSystem{0x00c36400, "ceph", true},   FileSystem{0x5346414f, "afs", true},    FileSystem{0x0bd00bd0, "lustre", true},
    FileSystem{0x47504653, "gpfs", true},   FileSystem{0x01161970, "gfs2", true},   FileSystem{0xef53, "ext4", false},
    FileSystem{0x58465342, "xfs", false},   FileSystem{0x9123683e, "btrfs", false}, FileSystem{0x2fc12fc1, "zfs", false},
    FileSystem{0x01021994, "tmpfs", false}, FileSystem{0x794c7630, "overlay", false}, FileSystem{0xf2f52010, "f2fs", false},
};

void look_at_file_system(std::string path, Diagnosis& found) {
    struct statfs info{};
    while (::statfs(path.c_str(), &info) != 0) {
        const auto slash = path.rfind('/');
        if (path.size() <= 1 || slash == std::string::npos) return;
        path.resize(slash == 0 ? 1 : slash);
    }
    const auto magic = static_cast<std::uint32_t>(info.f_type);
    for (const auto& known : k_file_systems) {
        if (known.magic != magic) continue;
        found.file_system = known.name;
        found.is_remote = known.is_remote;
    }
    const auto block = static_cast<std::uint64_t>(info.f_bsize);
    found.free_bytes = info.f_bavail * block;
    found.total_bytes = info.f_blocks * block;
}

void look_at_identity(const Layout& layout, Diagnosis& found) {
    try {
        const auto identity = read_identity(layout.identity());
        if (!identity) return;
        found.has_identity = true;
        found.instance = identity->instance;
        found.on_its_machine = identity->machine == machine_id();
    } catch (const Error& error) {
        found.error = error.message();
    }
}

void look_at_database(const Layout& layout, Diagnosis& found) {
    using enum Diagnosis::Database;
    if (::access(layout.database().c_str(), F_OK) != 0) return;
    found.is_suspect = ::access(suspect_mark(layout.database()).c_str(), F_OK) == 0;
    try {
        const auto snapshot = Snapshot::take(layout.database());
        const Db db(layout.database(), snapshot ? Db::Access::snapshot : Db::Access::read_only);
        found.database = schema_of(db, migrations()) == SchemaStatus::current ? usable : old_schema;
    } catch (const Error& error) {
        found.database = unusable;
        found.database_error = error.message();
        found.database_hint = error.hint();
    }
}

} // namespace

Diagnosis diagnose(const std::string& directory) {
    Diagnosis found;
    look_at_file_system(directory, found);
    struct stat info{};
    if (::stat(directory.c_str(), &info) != 0) {
        if (errno != ENOENT) found.error = directory + ": " + std::strerror(errno);
        return found;
    }
    found.exists = true;
    found.is_directory = S_ISDIR(info.st_mode);
    if (found.is_directory && ::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) found.write_error = std::strerror(errno);
    found.owner = info.st_uid;
    found.mode = info.st_mode & 07777;
    if (!found.is_directory) return found;
    const Layout layout{directory};
    look_at_identity(layout, found);
    if (found.error.empty()) look_at_database(layout, found);
    return found;
}

} // namespace sandbox::state
