// SPDX-License-Identifier: Apache-2.0
// The TCP ports of a session: what its manifest declares, where the engine publishes them, and who listens inside.
//
//   for (const PortView& view : session_ports(context, "job-981")) ...
#pragma once

#include "app/context.hpp"
#include "channel/ports.hpp"
#include "util/time.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sandbox::app {

struct PortView {
    std::uint16_t port = 0;
    bool declared = false;                    // in the manifest's `publish`
    std::optional<std::uint16_t> host_port;   // on 127.0.0.1
    std::vector<channel::Listener> listening; // none: nobody, and a connection is refused
};

// In the order of ports. Looking: never counts as activity.
std::vector<PortView> session_ports(Context& context, std::string_view session);
// Waits until all of `ports` listen inside, and returns these. Throws timed_out with those that are missing, and what listens instead.
std::vector<PortView> wait_for_ports(Context& context, std::string_view session, const std::vector<std::uint16_t>& ports, Milliseconds timeout);
// The same for one port of a session that was found already; `option` is what the hint calls the time.
std::vector<channel::Listener> wait_for_port(Context& context, const state::SessionRow& row, std::uint16_t port, Milliseconds timeout, std::string_view option);

} // namespace sandbox::app
