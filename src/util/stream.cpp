// SPDX-License-Identifier: Apache-2.0
#include "util/stream.hpp"

#include "util/error.hpp"

#include <cerrno>
#include <sys/socket.h>

namespace sandbox {

std::size_t SocketStream::read(std::span<char> buffer) { return read_some(m_socket.get(), buffer); }

void SocketStream::write(std::string_view bytes) {
    while (!bytes.empty()) {
        // MSG_NOSIGNAL: a peer that went away is an Error here, not a SIGPIPE that ends the whole program.
        const ssize_t count = ::send(m_socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno != EINTR) {
            throw errno_error("cannot send");
        }
    }
}

void SocketStream::shutdown_write() { ::shutdown(m_socket.get(), SHUT_WR); }

} // namespace sandbox
