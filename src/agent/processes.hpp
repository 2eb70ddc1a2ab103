// SPDX-License-Identifier: Apache-2.0
// Looking at the container's processes through /proc, and ending whole trees of them for certain.
//
//   const int left = end_all(own_children, {}, reap);
#pragma once

#include "util/fd.hpp"

#include <functional>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace sandbox::agent {

struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
    char state = '?';             // as in proc(5): Z is a zombie
    unsigned long long start = 0; // with the pid, this names a process for good

    // False for a zombie, whose other threads may run on all the same: only who has waited for a child knows that it is gone.
    bool looks_alive() const { return state != 'Z' && state != 'X'; }
};

// The children of this process, its adopted ones included, through a descriptor held from the start: a command may take from its
// supervisor the right to open files (prlimit(2)).
class OwnChildren {
  public:
    OwnChildren();
    // Alive, or ended and not waited for. Absent when that can't be known. What a child leaves behind is among them before the child
    // can be waited for, so an empty answer, with no wait in the middle of it, means that nothing is left.
    std::optional<std::vector<pid_t>> pids() const;

  private:
    Fd m_file; // /proc/thread-self/children, where the kernel has it
};

// One pass over /proc. Not a snapshot: processes come and go meanwhile, so whoever needs "all" makes passes until one
// finds nothing new.
std::vector<Process> list_processes();
// The process that has this pid now.
std::optional<Process> find_process(pid_t pid);
// Whether it is that very process that has the pid.
bool is_there(const Process& process);
// What `all` holds below `root`, its own children and theirs; nothing below (or of) the pids in `spared`.
std::vector<Process> descendants_of(pid_t root, const std::vector<Process>& all, const std::vector<pid_t>& spared = {});
std::vector<Process> descendants_of(pid_t root);

// Sends a signal to that very process, not to one that got its pid since. False on EPERM.
bool send_signal(const Process& process, int signal);

// Ends this process's children but the spared ones, and what these leave to it, until none is left: first SIGSTOP in passes, so that
// most can't fork their way out, then SIGKILL to whoever has become a child, which is where every descendant ends up. `reap` waits
// for the dead, and is called between passes. Returns how many could not be ended: another uid's, or what five seconds of
// killing did not catch.
int end_all(const OwnChildren& children, const std::function<std::vector<pid_t>()>& spared, const std::function<void()>& reap);
// Stops, then kills in passes over /proc, every process that `targets` returns: for those that are nobody's children here.
void end_strangers(const std::function<std::vector<Process>()>& targets, const std::function<void()>& reap);

} // namespace sandbox::agent
