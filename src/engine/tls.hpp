// SPDX-License-Identifier: Apache-2.0
// TLS to an engine, with a client certificate and the engine's name checked. Reads ca.pem, cert.pem and key.pem of one
// directory, as docker keeps them. Never unverified, never below TLS 1.2; openssl.cnf is not read.
//
//   TlsClient tls(endpoint);
//   std::unique_ptr<Socket> socket = tls.handshake(connect_to(endpoint, timeout), timeout);
#pragma once

#include "engine/client.hpp"
#include "engine/socket.hpp"
#include "util/fd.hpp"

#include <chrono>
#include <memory>

namespace sandbox::engine {

class TlsClient {
  public:
    // Throws usage for files that are missing, malformed, or do not belong together.
    explicit TlsClient(const Endpoint& endpoint);
    ~TlsClient();
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;

    // Takes a connected socket through the handshake. Throws engine_unreachable, with a message of its own for an unknown
    // authority, a wrong name, an expired certificate, a refused client certificate, a port without TLS, and silence.
    std::unique_ptr<Socket> handshake(Fd socket, std::chrono::milliseconds timeout) const;

  private:
    struct Context;
    std::unique_ptr<Context> m_context;
};

} // namespace sandbox::engine
