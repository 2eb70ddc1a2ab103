// SPDX-License-Identifier: Apache-2.0
// What stat(2) says, as the protocol says it.
//
//   entry.type = type_of(info.st_mode); entry.mtime_ns = nanoseconds(info.st_mtim);
#pragma once

#include "util/inventory.hpp"

#include <cstdint>
#include <sys/stat.h>

namespace sandbox::agent {

// Wraps where a file system holds times that 64 bits of nanoseconds cannot: it is the same for the same time, which is all that counts.
inline std::int64_t nanoseconds(const timespec& time) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec));
}

inline InventoryType type_of(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFREG: return InventoryType::file;
    case S_IFDIR: return InventoryType::directory;
    case S_IFLNK: return InventoryType::symlink;
    case S_IFIFO: return InventoryType::fifo;
    case S_IFSOCK: return InventoryType::socket;
    default: return InventoryType::device;
    }
}

} // namespace sandbox::agent
