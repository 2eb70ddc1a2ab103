// SPDX-License-Identifier: Apache-2.0
// Podman as the engine where there is no Docker. Its API service is started when it is needed, and ends by itself once nobody
// has spoken to it for a while; sessions do not need it to live on.
//
//   if (const auto socket = podman_socket()) return Endpoint::parse("unix://" + *socket);
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox::engine {

// Whether an engine's id, as Client::id() gives it, is a Podman's.
bool is_podman(std::string_view engine_id);

// Where this user's Podman serves: /run/podman/podman.sock for root, else $XDG_RUNTIME_DIR/podman/podman.sock, the paths that
// systemd's podman.socket has. Absent where there is no program `podman`, and where SANDBOX_NO_PODMAN says not to.
std::optional<std::string> podman_socket();
// Returns when the service takes connections; two at once start one. Throws engine_unreachable when that does not come to pass.
void start_podman(const std::string& socket, std::chrono::milliseconds timeout);

} // namespace sandbox::engine
