// SPDX-License-Identifier: Apache-2.0
// A TCP port of this machine that connections are taken at.
//
//   const TcpListener listener("127.0.0.1", 0); say(listener.port()); ... while (Fd socket = listener.accept()) ...
#pragma once

#include "util/fd.hpp"

#include <cstdint>
#include <string>

namespace sandbox::app {

class TcpListener {
  public:
    // Port 0: the kernel chooses. `instead` is the hint when the port is taken. Throws busy then, denied for a port that this user
    // may not have, usage for an address that is not this machine's.
    TcpListener(const std::string& address, std::uint16_t port, const std::string& instead);

    int fd() const { return m_socket.get(); }
    const std::string& address() const { return m_address; }
    std::uint16_t port() const { return m_port; }
    // The next connection; empty when there is none now. Throws an errno error when this process has too many files.
    Fd accept() const;

  private:
    Fd m_socket;
    std::string m_address;
    std::uint16_t m_port;
};

// Lets this process have as many open files as its hard limit allows, and `wanted` at most. Returns how many connections it then has room for,
// each of so many files: more of them wait until one has ended.
std::size_t room_for_connections(std::size_t wanted, std::size_t files_each);

} // namespace sandbox::app
