// SPDX-License-Identifier: Apache-2.0
// Everything below this process. It is made the subreaper of its descendants, so whatever they do to hide (setsid, double fork), they
// stay below it, and when it has no child it has no descendant.
//
//   Subtree tree;
//   poll(tree.fd()); tree.reap([&](pid_t pid, int status) { ... });
//   if (!tree.has_children()) everything_is_gone();
#pragma once

#include "agent/processes.hpp"
#include "util/fd.hpp"

#include <functional>
#include <sys/types.h>

namespace sandbox::agent {

class Subtree {
  public:
    // SIGCHLD must be blocked. Throws Error.
    Subtree();
    // Readable when a child has ended.
    int fd() const { return m_signals.get(); }
    // Waits for the ended children, and calls `ended` with each one's pid and wait status.
    void reap(const std::function<void(pid_t, int)>& ended);
    // As of the last reap(); true before the first.
    bool has_children() const { return m_has_children; }
    // To every descendant; one that is stopped is continued, or it would take the signal only when somebody does that.
    void signal(int number) const;
    // Kills every descendant (see end_all()); `reap` is called between passes. Returns how many could not be ended.
    int end(const std::function<void()>& reap) const;

  private:
    Fd m_signals; // signalfd for SIGCHLD
    OwnChildren m_own;
    bool m_has_children = true;
};

} // namespace sandbox::agent
