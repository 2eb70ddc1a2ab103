// SPDX-License-Identifier: Apache-2.0
// Which TCP ports listen in a session, and waiting for one.
//
//   for (const Listener& one : list_ports(link)) ...
#pragma once

#include "channel/agent_client.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sandbox::channel {

struct Listener {
    std::string address; // as text: "127.0.0.1", "::"
    std::uint16_t port = 0;
    std::uint32_t pid = 0; // in the container; 0: not known, another user's
    std::string process;   // its name; any bytes
};

// In the order of ports, the first thousand. Looking: never counts as activity. Throws session_unreachable, or failed for a session of an
// older sandbox.
std::vector<Listener> list_ports(const Link& link);

// Waits until `port` listens inside and returns who listens then, all ports included. Absent when `until` (boot_now_ms) passes first. What
// listened meanwhile is told to `seen`, each time that it changes. Throws session_gone when the session expires meanwhile, and what
// list_ports() throws.
std::optional<std::vector<Listener>> wait_port(const Link& link, std::uint16_t port, std::int64_t until,
                                               const std::function<void(const std::vector<Listener>&)>& seen);

} // namespace sandbox::channel
