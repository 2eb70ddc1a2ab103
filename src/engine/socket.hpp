// SPDX-License-Identifier: Apache-2.0
// A connected, non-blocking byte connection to an engine, in the clear here and through TLS in tls.hpp. It never waits: who
// uses it polls, with a deadline of his own.
//
//   const ssize_t count = socket.receive(buffer);
//   if (count < 0 && errno == EAGAIN) poll(socket.fd(), socket.wanted(POLLIN), ...);
#pragma once

#include "util/fd.hpp"

#include <span>
#include <string_view>
#include <sys/types.h>

namespace sandbox::engine {

class Socket {
  public:
    virtual ~Socket() = default;
    // As recv(2) and send(2): a count, 0 at the end the other side declared, -1 with errno. TLS throws
    // engine_unreachable where the other side refused us in its own words.
    virtual ssize_t receive(std::span<char> buffer) = 0;
    virtual ssize_t send(std::string_view bytes) = 0;
    // The other side sees end of file; reading goes on.
    virtual void shutdown_write() = 0;
    virtual int fd() const = 0;
    // What to poll for after EAGAIN of a receive (POLLIN) or of a send (POLLOUT).
    virtual short wanted(short events) const { return events; }
    // Bytes that were taken from the descriptor and not given out: poll(2) does not know of them.
    virtual bool has_pending() const { return false; }
    // Neither bytes nor an end are there to be read.
    virtual bool is_quiet() = 0;
};

class PlainSocket final : public Socket {
  public:
    explicit PlainSocket(Fd socket);
    ssize_t receive(std::span<char> buffer) override;
    ssize_t send(std::string_view bytes) override;
    void shutdown_write() override;
    int fd() const override { return m_socket.get(); }
    bool is_quiet() override;

  private:
    Fd m_socket;
};

} // namespace sandbox::engine
