// SPDX-License-Identifier: Apache-2.0
// What can be told of a state directory without changing it: for doctor.
//
//   const Diagnosis found = diagnose(directory);
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace sandbox::state {

struct Diagnosis {
    enum class Database { absent, usable, old_schema, unusable };

    bool exists = false;
    bool is_directory = false;
    uid_t owner = 0;
    mode_t mode = 0;             // permission bits
    std::string write_error;     // why nothing can be made in it; empty: it can, or it is no directory
    std::string error;           // why the directory cannot be looked at; empty: it can
    bool has_identity = false;   // the file `instance` is there and is one
    std::string instance;        // empty without one
    bool on_its_machine = false; // only with an identity
    Database database = Database::absent;
    std::string database_error;  // unusable: why
    std::string database_hint;
    bool is_suspect = false;     // a damaged page was met: the next opening checks the whole of it
    std::string file_system;     // "ext4", "nfs", ...; empty: one that this version has no name for
    bool is_remote = false;      // locks of another machine may not be seen
    std::uint64_t free_bytes = 0; // for this user
    std::uint64_t total_bytes = 0;
};

// Never throws for what it finds. Without a directory, its nearest parent that is there is looked at for the file system.
Diagnosis diagnose(const std::string& directory);

} // namespace sandbox::state
