// SPDX-License-Identifier: Apache-2.0
// A command of the host that a session was made for: it ends with the one who asked for it.
//
//   const ExitStatus status = run_host_command({.argv = {"./steps.sh"}, .environment = {"SANDBOX_SESSION=" + id}});
#pragma once

#include "util/process.hpp"

#include <string>
#include <vector>

namespace sandbox::app {

struct HostCommand {
    std::vector<std::string> argv;
    std::vector<std::string> environment; // "NAME=value", over this process's own
    int session_fd = -1;                  // readable when the session has ended: said on stderr, and the command goes on
};

// Runs it on the caller's streams and terminal to its end. INT, TERM and HUP that are held back (Interrupt) are passed on, but for those that
// the terminal sends it by itself; a second one kills it. It gets TERM, and after 5 s KILL, when this process's parent is gone, unless HUP is
// ignored (nohup); and TERM when this process is killed. Throws what Child throws, and interrupted when a signal ended it or it then
// ended with 0.
ExitStatus run_host_command(const HostCommand& command);

} // namespace sandbox::app
