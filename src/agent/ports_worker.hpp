// SPDX-License-Identifier: Apache-2.0
// The workers that tell which ports listen in the session.
//
//   return run_wait_port_worker(connection, control_socket);
#pragma once

#include "agent/worker.hpp"

namespace sandbox::agent {

int run_list_ports_worker(WorkerConnection& connection);
// Until the port listens, the client hangs up or the session ends.
int run_wait_port_worker(WorkerConnection& connection, int control);

} // namespace sandbox::agent
