// SPDX-License-Identifier: Apache-2.0
// Requests to one engine: a kept connection for plain calls, one of its own for every stream, and errors that name the
// endpoint.
//
//   const Response answer = transport.call({.method = "GET", .target = "/_ping"});
#pragma once

#include "engine/client.hpp"
#include "engine/http.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace sandbox::engine {

class TlsClient;

struct Request {
    std::string method;
    std::string target; // path and query as sent
    std::string body{};
    std::string content_type = "application/json";
    Headers headers{};
    int upload_fd = -1;  // the body instead of `body`: chunked, read to its end
    std::optional<std::chrono::milliseconds> header_timeout{}; // Timeouts::header where absent
};

struct Response {
    int status = 0;
    std::string body;
    HttpHead head;
    bool ok() const { return status >= 200 && status < 300; }
};

// An answer whose body is still to be read, on a connection of its own.
struct Exchange {
    std::unique_ptr<HttpConnection> connection;
    HttpHead head;
};

class Transport {
  public:
    Transport(Endpoint endpoint, Timeouts timeouts);
    ~Transport();

    const Endpoint& endpoint() const { return m_endpoint; }
    const Timeouts& timeouts() const { return m_timeouts; }
    // Whole exchange; the body is bounded. Any status is an answer. Only a GET whose kept connection turns out to be
    // closed is sent again; everything else could have been done already.
    Response call(const Request& request);
    // Sends on a new connection and reads the head.
    Exchange open(const Request& request);
    // Reads the rest of an exchange as a plain answer (for the errors of a stream call).
    Response finish(Exchange exchange);
    // Puts the endpoint in front of an error that came out of reading a stream.
    Error located(Error error) const;

  private:
    std::unique_ptr<HttpConnection> dial();
    HttpHead exchange_heads(HttpConnection& connection, const Request& request);
    Response call_once(const Request& request);

    Endpoint m_endpoint;
    Timeouts m_timeouts;
    std::unique_ptr<TlsClient> m_tls; // made on the first call, as it reads files
    std::unique_ptr<HttpConnection> m_kept;
};

} // namespace sandbox::engine
