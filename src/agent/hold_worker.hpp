// SPDX-License-Identifier: Apache-2.0
// The worker of a connection that is held open for its own sake: somebody waits for the session's end, or works in it through the
// engine. It counts as activity as long as the client is there.
//
//   return run_hold_worker(connection, control_socket);
#pragma once

#include "agent/worker.hpp"

namespace sandbox::agent {

// Answers with an empty `reply` at once, and with a second one when the session's own deadline ends it. Returns when the client has hung up.
int run_hold_worker(WorkerConnection& connection, int control);

} // namespace sandbox::agent
