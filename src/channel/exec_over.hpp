// SPDX-License-Identifier: Apache-2.0
// An exec that no agent's PID 1 takes: the other end of the stream is a supervisor of its own (`sandbox-agent exec`), which the engine has
// started as another user.
//
//   const ExecResult result = exec_over(std::move(stream), request, io);
#pragma once

#include "channel/agent_client.hpp"

#include <memory>

namespace sandbox::channel {

// As exec(), `request.cwd` being absolute. Throws session_unreachable when the stream ends without a result.
ExecResult exec_over(std::unique_ptr<Stream> stream, const ExecRequest& request, ExecIo& io);

} // namespace sandbox::channel
