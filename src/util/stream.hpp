// SPDX-License-Identifier: Apache-2.0
// A duplex byte stream that can be polled: a unix socket, or an exec attached through an engine. The channel
// speaks frames over it without knowing which.
//
//   while (stream.buffered() || poll_in(stream.poll_fd())) handle(stream.read(buffer));
#pragma once

#include "util/fd.hpp"

#include <cstddef>
#include <span>
#include <string_view>

namespace sandbox {

class Stream {
  public:
    virtual ~Stream() = default;
    // Blocks until at least one byte is there. 0 at end of stream; throws Error when the stream was cut or broke
    // its own framing.
    virtual std::size_t read(std::span<char> buffer) = 0;
    // Writes everything; blocks as needed. Throws Error when the other side is gone.
    virtual void write(std::string_view bytes) = 0;
    // Writes what is taken without waiting and says how much that was; may be nothing, but not for ever once poll(2) says POLLOUT. Throws as
    // write() does.
    virtual std::size_t write_some(std::string_view bytes);
    // Half-close: the other side sees end of file, reading goes on. Safe to call twice.
    virtual void shutdown_write() = 0;
    // The descriptor to poll for POLLIN.
    virtual int poll_fd() const = 0;
    // True when read() would return without touching the descriptor, so poll must not be waited for.
    virtual bool buffered() const { return false; }
};

// A Stream over a connected socket (or any duplex descriptor for which shutdown(2) works).
class SocketStream final : public Stream {
  public:
    explicit SocketStream(Fd socket) : m_socket(std::move(socket)) {}
    std::size_t read(std::span<char> buffer) override;
    void write(std::string_view bytes) override;
    std::size_t write_some(std::string_view bytes) override;
    void shutdown_write() override;
    int poll_fd() const override { return m_socket.get(); }

  private:
    Fd m_socket;
};

} // namespace sandbox
