// SPDX-License-Identifier: Apache-2.0
// Processes that are held by descriptors (pidfd_open(2)), their own children or not.
//
//   if (!has_ended(pidfd, 200)) ::kill(pid, SIGKILL);
#pragma once

#include <poll.h>

namespace sandbox {

// Whether it has, within so many milliseconds. A system call and nothing else, so that a child of a program with threads may ask.
inline bool has_ended(int pidfd, int milliseconds) {
    pollfd entry{pidfd, POLLIN, 0};
    return ::poll(&entry, 1, milliseconds) > 0;
}

} // namespace sandbox
