// SPDX-License-Identifier: Apache-2.0
// Owned file descriptors and the loops around read(2) and write(2) that handle EINTR and short counts.
//
//   Fd file(::open(path, O_RDONLY | O_CLOEXEC));
//   write_all(file.get(), bytes);
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sandbox {

class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : m_fd(fd) {}
    Fd(Fd&& other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}
    Fd& operator=(Fd&& other) noexcept;
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd() { reset(); }

    int get() const { return m_fd; }
    explicit operator bool() const { return m_fd >= 0; }
    int release() { return std::exchange(m_fd, -1); }
    void reset(int fd = -1);

  private:
    int m_fd = -1;
};

struct Pipe {
    Fd read;
    Fd write;
};
// A pipe with O_CLOEXEC on both ends. Throws Error on failure.
Pipe make_pipe();

// Reads at most buffer.size() bytes, retrying EINTR. Returns 0 at end of file; throws Error on failure.
std::size_t read_some(int fd, std::span<char> buffer);
// Writes everything, waiting with poll(2) where the descriptor is non-blocking. Throws Error (EPIPE included).
void write_all(int fd, std::string_view bytes);
// Reads to end of file, at most `limit` bytes; more than that throws limit_exceeded.
std::string read_all(int fd, std::size_t limit);
void set_nonblocking(int fd, bool on);

} // namespace sandbox
