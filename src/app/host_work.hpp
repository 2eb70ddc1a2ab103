// SPDX-License-Identifier: Apache-2.0
// A command of the host that a session was made for: it ends with the one who asked for it.
//
//   const Fd caller = watch_caller();
//   const HostEnd end = run_host_command({.argv = {"./steps.sh"}, .environment = {"SANDBOX_SESSION=" + id}});
#pragma once

#include "util/process.hpp"

#include <string>
#include <sys/resource.h>
#include <vector>

namespace sandbox::app {

struct HostCommand {
    std::vector<std::string> argv;
    std::vector<std::string> environment; // "NAME=value", over this process's own
    int session_fd = -1;                  // readable when the session has ended: said on stderr, and the command goes on
    const Fd* caller = nullptr;           // watch_caller()
};

// Becomes readable when this process's parent is gone; none where HUP is ignored (nohup), or there is no parent to speak of. To be opened first of
// all: what takes its time before the command may see the parent go. By descriptor, for a parent-death signal would come when the thread
// ends that started this process, and others may live on.
Fd watch_caller();

struct HostEnd {
    ExitStatus status;
    rusage usage{}; // with what it has started and waited for
};

// Runs it on the caller's streams and terminal to its end. INT, TERM and HUP that are held back (Interrupt) are passed on, but for the INT that
// the terminal sends it by itself; a second one kills it. It gets TERM, and after 5 s KILL, when the caller is gone, and when this process is killed
// (host_guard.hpp). Not even started when the caller is gone by then. Throws what Child throws, and interrupted when a signal ended it or it then
// ended with 0.
HostEnd run_host_command(const HostCommand& command);

} // namespace sandbox::app
