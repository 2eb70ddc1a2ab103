// SPDX-License-Identifier: Apache-2.0
// What a worker of the agent gets: the connection it took over from PID 1, and what it must know of the session. One worker
// process serves one connection and exits; it may block and may use as much memory as its operation needs.
//
//   WorkerConnection connection(std::make_unique<SocketStream>(std::move(socket)), bytes_past_the_open_frame);
//   return run_file_worker(connection, Operation::put_tree, open.version, context);
#pragma once

#include "agent/wire.hpp"

#include <string>
#include <sys/types.h>

namespace sandbox::agent {

// read_frame(), write() and fd() of the client's connection.
using WorkerConnection = FramedStream;

struct SessionContext {
    std::string workdir;
    uid_t uid = 0;
    gid_t gid = 0;
};

} // namespace sandbox::agent
