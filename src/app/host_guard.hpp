// SPDX-License-Identifier: Apache-2.0
// The end of a command of the host that heeds no TERM, where the `sandbox` that ran it was killed with KILL and can do nothing any more.
//
//   Child child(options); const HostGuard guard(child, Milliseconds(5000));
#pragma once

#include "util/process.hpp"
#include "util/time.hpp"

#include <sys/types.h>

namespace sandbox::app {

// A process beside the command, with no streams and no terminal, that does nothing but wait for either to end. A parent-death signal is one
// signal alone: KILL at once would take from the command the clean-up that it does on TERM.
class HostGuard {
  public:
    // From then on the command gets KILL when it still runs `grace` after this process has gone. Throws Error where there is no room for a process.
    HostGuard(const Child& command, Milliseconds grace);
    HostGuard(const HostGuard&) = delete;
    HostGuard& operator=(const HostGuard&) = delete;
    // The command is on its own again.
    ~HostGuard();

  private:
    pid_t m_pid;
};

} // namespace sandbox::app
