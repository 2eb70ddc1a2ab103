// SPDX-License-Identifier: Apache-2.0
// Whether something inside listens on a TCP port, from the kernel's own tables.
//
//   if (is_listening(8000)) ...
#pragma once

#include <cstdint>
#include <vector>

namespace sandbox::agent {

// The sockets (their inodes) that listen on that port, over IPv4 or IPv6, on whatever address.
std::vector<std::uint64_t> listening_sockets(std::uint16_t port);
bool is_listening(std::uint16_t port);

} // namespace sandbox::agent
