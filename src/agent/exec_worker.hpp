// SPDX-License-Identifier: Apache-2.0
// The worker of one exec: reads the request, starts the leader, moves its streams, and sees to it that the whole tree ends
// when it has to. It is the tree's subreaper, so whatever a process does to hide (setsid, double fork), it stays below this one.
//
//   ::_exit(run_exec_worker(connection, control_socket, context));
#pragma once

#include "agent/oom.hpp"
#include "agent/worker.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sandbox::agent {

// One byte on the control socket between PID 1 and a worker.
inline constexpr char k_control_done = 'd';    // worker: the client has its answer, or is gone and nothing is left
inline constexpr char k_control_expired = 'x'; // PID 1: the session's end has come

struct ExecContext {
    SessionContext session;
    std::vector<std::string> environment; // the image's and the session's
    std::int64_t grace_ms = 0;            // when the session's end has come
    const OomCounter* oom = nullptr;
};

// Returns the worker's exit status once the client is served and no process of the exec is left.
int run_exec_worker(WorkerConnection& connection, int control, const ExecContext& context);

} // namespace sandbox::agent
