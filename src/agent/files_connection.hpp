// SPDX-License-Identifier: Apache-2.0
// What every operation of the file worker expects of its client, who may hang up at any time.
//
//   const std::string payload = expect_payload(connection, FrameType::put);
//   remove_all([&] { expect_client(connection); });
#pragma once

#include "agent/worker.hpp"

#include <string>

namespace sandbox::agent {

// The client is gone or gave up: whatever was made goes, and there is nobody to tell.
struct ClientGone {};

// The next frame. Throws ClientGone where there is none, or the client says that it failed.
FrameView expect_frame(WorkerConnection& connection);
// Its payload. Throws WireError when it is of another type.
std::string expect_payload(WorkerConnection& connection, FrameType type);
// For long work in which the client has nothing to say: throws ClientGone once it has hung up.
void expect_client(WorkerConnection& connection);

} // namespace sandbox::agent
