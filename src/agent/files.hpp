// SPDX-License-Identifier: Apache-2.0
// The worker that moves file trees (put_tree, put_entries, get_tree), lists names, takes inventories and works on single files, with the
// session's own credentials, confined to the workdir for every path that names something in it.
//
//   return run_file_worker(connection, Operation::put_tree, open.version, context);
#pragma once

#include "agent/worker.hpp"

namespace sandbox::agent {

// Serves the one operation, in the protocol version that the client opened it with, and returns the worker's exit status. Failures go to the client as a `failure` frame.
int run_file_worker(WorkerConnection& connection, Operation operation, std::uint32_t version, const SessionContext& context);

} // namespace sandbox::agent
