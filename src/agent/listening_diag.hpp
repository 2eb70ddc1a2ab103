// SPDX-License-Identifier: Apache-2.0
// Listening sockets by sock_diag(7), which looks at those alone. The files of proc_net_tcp(5) walk the whole machine's table of connections
// as well, and cost 10 ms each where that is large.
//
//   if (!read_by_diag(AF_INET, 0, sockets)) read_table("/proc/net/tcp", 0, sockets);
#pragma once

#include "agent/listening.hpp"

namespace sandbox::agent {

// Appends those at one port (0: all), up to k_max_listening. False, with nothing appended, where the kernel does not tell (gVisor, or a kernel built without it).
bool read_by_diag(int family, std::uint16_t port, std::vector<ListeningSocket>& sockets);

} // namespace sandbox::agent
