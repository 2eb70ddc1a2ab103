// SPDX-License-Identifier: Apache-2.0
// A command on its way to the agent: its words and its environment as items.
//
//   const auto items = command_items(request.argv, request.env);
//   if (is_too_big(items)) return too_big();
#pragma once

#include "channel/agent_client.hpp"

#include <string>
#include <vector>

namespace sandbox::channel {

// Throws usage for a NUL byte, which would end a word early.
std::vector<std::string> command_items(const std::vector<std::string>& argv, const Environment& env);
// What the agent would refuse as a whole, and the kernel would in any case.
bool is_too_big(const std::vector<std::string>& items);
// What the kernel would say.
ExecResult too_big();
// How a `result` frame says it ended.
ExecResult public_result(std::string_view payload);

} // namespace sandbox::channel
