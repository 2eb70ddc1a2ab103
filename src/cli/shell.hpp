// SPDX-License-Identifier: Apache-2.0
// The best shell that an image has, on a terminal.
//
//   return run_shell(call.context(), target, {});
#pragma once

#include "app/exec.hpp"
#include "channel/agent_client.hpp"

#include <string>
#include <string_view>

namespace sandbox::cli {

// Runs it to its end, `request` without a command saying how. `wanted` is tried alone where it is not empty. Says what went wrong, and returns the
// exit status: the shell's own, else as exec has it, 127 where the image has none. Throws what exec_attached() throws.
int run_shell(app::Context& context, const app::ExecTarget& target, channel::ExecRequest request, std::string_view wanted = {},
                              const std::string& detach_keys = {});

} // namespace sandbox::cli
