// SPDX-License-Identifier: Apache-2.0
// Which TCP ports accept connections in this network namespace, and whose they are, looked up by the sockets' inodes.
//
//   std::vector<ListeningSocket> sockets = listening_sockets(); name_owners(sockets);
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sandbox::agent {

// More are not told: the list fits in a frame, and whoever opens thousands of ports is not previewed.
inline constexpr std::size_t k_max_listening = 1000;

struct ListeningSocket {
    std::string address; // 4 or 16 bytes in network order
    std::uint16_t port = 0;
    unsigned long inode = 0;
    pid_t pid = 0;       // 0: not known
    std::string process; // its name as in /proc/PID/comm; any bytes
};

// In the order of ports, then addresses; without owners.
std::vector<ListeningSocket> listening_sockets();
// Those at one port, on whatever address, however many there are at others.
std::vector<ListeningSocket> sockets_at(std::uint16_t port);
// Their inodes.
std::vector<std::uint64_t> listening_sockets(std::uint16_t port);
bool is_listening(std::uint16_t port);
// Fills in pid and name where this process may look: of processes of the same user. Another's socket keeps pid 0.
void name_owners(std::vector<ListeningSocket>& sockets);

} // namespace sandbox::agent
