// SPDX-License-Identifier: Apache-2.0
// What a worker reads of a command that it is to start: its words and its environment, which follow the request as items.
//
//   auto words = read_command(connection, message.argument_count, message.environment_count);
//   if (!words || !is_still_there(connection.fd())) return;
#pragma once

#include "agent/worker.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace sandbox::agent {

struct CommandWords {
    std::vector<std::string> arguments; // at least one
    std::vector<std::string> environment; // NAME=VALUE
};
// Absent when the client went away before all was there. Throws WireError for a command without a name, or what ItemCollector refuses.
std::optional<CommandWords> read_command(WorkerConnection& connection, std::size_t arguments, std::size_t environment);
// A client that gave up while its request waited (in a paused container, say) must not have it run later.
bool is_still_there(int fd);
// A directory as clients name it: absolute, or relative to the workdir.
std::string inside_workdir(const SessionContext& session, const std::string& cwd);

} // namespace sandbox::agent
