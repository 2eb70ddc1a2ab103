// SPDX-License-Identifier: Apache-2.0
#include "util/fd.hpp"

#include "util/error.hpp"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace sandbox {

Fd& Fd::operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.m_fd, -1));
    return *this;
}

void Fd::reset(int fd) {
    // close(2) is not retried on EINTR: on Linux the descriptor is gone either way.
    if (m_fd >= 0) ::close(m_fd);
    m_fd = fd;
}

Pipe make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw errno_error("cannot make a pipe");
    return {Fd(ends[0]), Fd(ends[1])};
}

std::size_t read_some(int fd, std::span<char> buffer) {
    for (;;) {
        const ssize_t count = ::read(fd, buffer.data(), buffer.size());
        if (count >= 0) return static_cast<std::size_t>(count);
        if (errno != EINTR) throw errno_error("read");
    }
}

void write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(fd, bytes.data(), bytes.size());
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            pollfd writable{fd, POLLOUT, 0};
            ::poll(&writable, 1, -1);
        } else if (errno != EINTR) {
            throw errno_error("write");
        }
    }
}

std::string read_all(int fd, std::size_t limit) {
    std::string content;
    char buffer[65536];
    while (const std::size_t count = read_some(fd, buffer)) {
        if (content.size() + count > limit) {
            throw Error(ErrorCode::limit_exceeded, "more than " + std::to_string(limit) + " bytes");
        }
        content.append(buffer, count);
    }
    return content;
}

void set_nonblocking(int fd, bool on) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) != 0) {
        throw errno_error("cannot change descriptor flags");
    }
}

} // namespace sandbox
