// SPDX-License-Identifier: Apache-2.0
// Ports of this machine that lead into a session.
//
//   forward(context, "job-981", {domain::parse_forward("8080:80")}, {.on_ready = ..., .on_refused = ...});
#pragma once

#include "app/context.hpp"
#include "domain/forward_spec.hpp"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace sandbox::app {

struct ForwardObserver {
    // Once, when connections are taken: the specs, with the ports that the kernel has chosen.
    std::function<void(const state::SessionRow&, const std::vector<domain::ForwardSpec>&)> on_ready;
    // When the session refuses a connection: why, as errno. Once for each port, and again after it was there.
    std::function<void(std::uint16_t port, int error)> on_refused;
};

// Until a signal (interrupted) or the session's end (session_gone) ends it.
[[noreturn]] void forward(Context& context, std::string_view session, const std::vector<domain::ForwardSpec>& specs, const ForwardObserver& observer);

} // namespace sandbox::app
