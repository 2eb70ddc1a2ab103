// SPDX-License-Identifier: Apache-2.0
// Looking at the container's processes through /proc, and ending whole trees of them for certain.
//
//   const int left = end_all([] { return descendants_of(::getpid()); }, reap);
#pragma once

#include <functional>
#include <sys/types.h>
#include <vector>

namespace sandbox::agent {

struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
    char state = '?';             // as in proc(5): Z is a zombie
    unsigned long long start = 0; // with the pid, this names a process for good

    bool is_alive() const { return state != 'Z' && state != 'X'; }
};

// One pass over /proc. Not a snapshot: processes come and go meanwhile, so whoever needs "all" makes passes until one
// finds nothing new.
std::vector<Process> list_processes();
// What `all` holds below `root`, its own children and theirs; nothing below (or of) the pids in `spared`.
std::vector<Process> descendants_of(pid_t root, const std::vector<Process>& all, const std::vector<pid_t>& spared = {});
std::vector<Process> descendants_of(pid_t root);

// Sends a signal to that very process, not to one that got its pid since. False on EPERM.
bool send_signal(const Process& process, int signal);

// Ends every process that `targets` returns, until it returns no living one: first SIGSTOP in passes, so that nothing can fork its
// way out, then SIGKILL. `reap` is called between passes. Returns how many could not be ended: another uid's, or stuck
// in the kernel for five seconds.
int end_all(const std::function<std::vector<Process>()>& targets, const std::function<void()>& reap);

} // namespace sandbox::agent
