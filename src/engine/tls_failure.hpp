// SPDX-License-Identifier: Apache-2.0
// What a failed TLS connection means and what to do about it, from OpenSSL's verdict and error queue.
//
//   if (SSL_connect(ssl) != 1) throw tls_failure(ssl, endpoint);
#pragma once

#include "engine/client.hpp"
#include "util/error.hpp"

#include <openssl/ssl.h>

namespace sandbox::engine {

// For a handshake that failed, and for an alert of the other side after it. Empties the error queue.
Error tls_failure(SSL* ssl, const Endpoint& endpoint);
// The oldest reason in OpenSSL's queue, for a local file that could not be used. Empties the queue.
std::string openssl_reason();

} // namespace sandbox::engine
