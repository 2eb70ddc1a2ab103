// SPDX-License-Identifier: Apache-2.0
// The worker of Operation::forward: one for all TCP connections that a client carries into the session.
//
//   return run_forward_worker(connection, control_socket);
#pragma once

#include "agent/worker.hpp"

namespace sandbox::agent {

// Until the client hangs up or the session ends. A port is looked for at 127.0.0.1, then ::1, then wherever else it listens.
int run_forward_worker(WorkerConnection& connection, int control);

} // namespace sandbox::agent
