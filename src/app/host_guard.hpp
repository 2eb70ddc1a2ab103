// SPDX-License-Identifier: Apache-2.0
// The end of a command of the host that heeds no TERM, where the `sandbox` that ran it was killed with KILL and can do nothing any more.
//
//   HostGuard guard(Milliseconds(5000)); Child child({.argv = ..., .announce_fd = guard.announce_fd()}); guard.arm();
#pragma once

#include "util/fd.hpp"
#include "util/time.hpp"

#include <sys/types.h>

namespace sandbox::app {

// A process beside the command, with no streams and no terminal, that does nothing but wait for either to end. A parent-death signal is one
// signal alone: KILL at once would take from the command the clean-up that it does on TERM.
class HostGuard {
  public:
    // There before the command is, which thus is never alone. The command that announces itself (SpawnOptions::announce_fd) gets KILL when it still
    // runs `grace` after this process has gone. Throws Error where there is no room for a process.
    explicit HostGuard(Milliseconds grace);
    HostGuard(const HostGuard&) = delete;
    HostGuard& operator=(const HostGuard&) = delete;
    // The command is on its own again.
    ~HostGuard();

    int announce_fd() const { return m_announce.get(); }
    // The command has been started.
    void arm() { m_announce.reset(); }

  private:
    Fd m_announce;
    pid_t m_pid;
};

} // namespace sandbox::app
