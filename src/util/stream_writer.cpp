// SPDX-License-Identifier: Apache-2.0
#include "util/stream_writer.hpp"

#include "util/error.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox {
namespace {

// Opened anew, because O_NONBLOCK on the descriptor we were given would be felt by everybody who shares it. Regular
// files need it not, and sockets cannot be opened this way: they are written to as they are.
Fd reopen(int fd) {
    struct stat info{};
    if (::fstat(fd, &info) != 0 || !(S_ISFIFO(info.st_mode) || ::isatty(fd) == 1)) return Fd();
    return Fd(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

} // namespace

StreamWriter::StreamWriter(int fd) : m_fd(fd), m_own(reopen(fd)) {}

void StreamWriter::write(std::string_view bytes, const std::function<bool(int)>& wait_writable) {
    const int fd = m_own ? m_own.get() : m_fd;
    while (!bytes.empty()) {
        const ssize_t count = ::write(fd, bytes.data(), bytes.size());
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            if (!wait_writable(fd)) return;
        } else if (errno == EPIPE) {
            // The command ends as it would at the left of a pipe.
            throw Error(ErrorCode::interrupted, "the output's reader went away").signal(SIGPIPE);
        } else if (errno != EINTR) {
            throw errno_error("cannot write output");
        }
    }
}

} // namespace sandbox
