// SPDX-License-Identifier: Apache-2.0
// Stopping and waiting (managed.hpp) for whoever has something else to heed meanwhile.
//
//   stop_process(link, "web", std::nullopt, [&](int fd, std::int64_t until) { poll_with_signals(fd, until); });
#pragma once

#include "channel/managed.hpp"

namespace sandbox::channel {

// `await` is called once the agent was asked, and whenever there is nothing to read; what it throws ends the waiting, and nothing else.
ManagedProcess stop_process(const Link& link, const std::string& process, std::optional<Milliseconds> grace, const Await& await);
std::optional<ManagedProcess> wait_process(const Link& link, const std::string& process, std::optional<Milliseconds> patience, const Await& await);

} // namespace sandbox::channel
