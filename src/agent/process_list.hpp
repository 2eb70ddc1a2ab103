// SPDX-License-Identifier: Apache-2.0
// The worker that tells of all managed processes, from its copy of what PID 1 knew when it was forked.
//
//   return run_process_list(connection, table);
#pragma once

#include "agent/process_table.hpp"
#include "agent/worker.hpp"

namespace sandbox::agent {

// One reply for each process, in the order in which they were started, then `done`. Returns the worker's exit status.
int run_process_list(WorkerConnection& connection, const ProcessTable& table);

} // namespace sandbox::agent
