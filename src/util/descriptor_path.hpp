// SPDX-License-Identifier: Apache-2.0
// Paths that stand for an open descriptor (proc(5)): what is behind one is written to and never replaced, a file included, since
// others hold it too and go on writing.
//
//   if (const auto fd = open_descriptor_path("/dev/stdout")) write_all(fd->get(), text);
#pragma once

#include "util/fd.hpp"

#include <optional>
#include <string>

namespace sandbox {

// A descriptor for what /dev/stdout, /dev/fd/N or /proc/PID/fd/N names, under whatever links; this process's own ones are duplicated,
// so that a file is written on from where it stands, and another's file grows at its end. Absent for any other path. Throws an errno
// error for one that is not open. To be called before the program opens files of its own: their numbers are not what the caller means.
std::optional<Fd> open_descriptor_path(const std::string& path);

} // namespace sandbox
