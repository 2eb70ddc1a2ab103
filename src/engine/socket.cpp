// SPDX-License-Identifier: Apache-2.0
#include "engine/socket.hpp"

#include <poll.h>
#include <sys/socket.h>

namespace sandbox::engine {

PlainSocket::PlainSocket(Fd socket) : m_socket(std::move(socket)) { set_nonblocking(m_socket.get(), true); }

ssize_t PlainSocket::receive(std::span<char> buffer) { return ::recv(m_socket.get(), buffer.data(), buffer.size(), 0); }

ssize_t PlainSocket::send(std::string_view bytes) {
    return ::send(m_socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void PlainSocket::shutdown_write() { ::shutdown(m_socket.get(), SHUT_WR); }

bool PlainSocket::is_quiet() {
    pollfd entry{m_socket.get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 0;
}

} // namespace sandbox::engine
