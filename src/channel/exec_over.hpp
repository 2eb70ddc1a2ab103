// SPDX-License-Identifier: Apache-2.0
// An exec that no agent's PID 1 takes: the other end of the stream is a supervisor of its own (`sandbox-agent exec`), which the engine has
// started as another user.
//
//   const auto result = exec_over(std::move(stream), request, io, on_silence, life, end_all);
#pragma once

#include "channel/exec_life.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace sandbox::channel {

// As exec(), `request.cwd` being absolute. Where no result comes (the supervisor was killed, or answers no more) `end_all` is called before
// anything else, to end what it has left; then, unless a signal ended the command, the result is absent. What `end_all` throws is thrown on where
// there is nothing else to say. Throws protocol_error for what is no supervisor's. `on_silence` as in Link.
std::optional<ExecResult> exec_over(std::unique_ptr<Stream> stream, const ExecRequest& request, ExecIo& io, const std::function<void()>& on_silence,
                                    Life life, const std::function<void()>& end_all);

} // namespace sandbox::channel
