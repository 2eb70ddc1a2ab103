// SPDX-License-Identifier: Apache-2.0
#include "util/stream.hpp"

#include "util/error.hpp"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

namespace sandbox {

// A socket is ready to be written to when a quarter of its buffer, or more, is free.
std::size_t Stream::write_some(std::string_view bytes) {
    constexpr std::size_t k_ready_piece = 16 << 10;
    pollfd writable{poll_fd(), POLLOUT, 0};
    if (::poll(&writable, 1, 0) <= 0 || (writable.revents & POLLOUT) == 0) return 0;
    const std::string_view piece = bytes.substr(0, k_ready_piece);
    write(piece);
    return piece.size();
}

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

std::size_t SocketStream::write_some(std::string_view bytes) {
    for (;;) {
        const ssize_t count = ::send(m_socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0) return static_cast<std::size_t>(count);
        if (errno == EAGAIN) return 0;
        if (errno != EINTR) throw errno_error("cannot send");
    }
}

void SocketStream::shutdown_write() { ::shutdown(m_socket.get(), SHUT_WR); }

} // namespace sandbox
