// SPDX-License-Identifier: Apache-2.0
#include "engine/transport.hpp"

#include "engine/connect.hpp"
#include "engine/tls.hpp"
#include "util/error.hpp"

#include <array>
#include <charconv>

namespace sandbox::engine {
namespace {

// A list of thousands of containers has a few megabytes.
constexpr std::size_t k_max_answer = 64 << 20;
constexpr std::size_t k_upload_chunk = 256 << 10;

std::string head_of(const Endpoint& endpoint, const Request& request) {
    // dockerd wants a Host, and any will do on a unix socket.
    const std::string host =
        endpoint.kind == Endpoint::Kind::unix_socket ? "docker" : endpoint.address().substr(std::string_view("tcp://").size());
    Headers headers = request.headers;
    const bool has_body = !request.body.empty() || request.upload_fd >= 0;
    if (has_body) headers.emplace_back("Content-Type", request.content_type);
    if (request.upload_fd >= 0) headers.emplace_back("Transfer-Encoding", "chunked");
    else if (request.method != "GET") headers.emplace_back("Content-Length", std::to_string(request.body.size()));
    return request_head(request.method, request.target, host, headers);
}

std::string hex(std::size_t number) {
    std::array<char, 16> digits;
    const auto [end, failure] = std::to_chars(digits.begin(), digits.end(), number, 16);
    return std::string(digits.begin(), end);
}

// False when the engine stopped reading, which it does when it has an error to tell.
bool upload(HttpConnection& connection, int fd, std::chrono::milliseconds silence) {
    std::string bytes(k_upload_chunk, '\0');
    for (;;) {
        const std::size_t count = read_some(fd, bytes);
        if (count == 0) return connection.send("0\r\n\r\n", silence);
        std::string chunk = hex(count) + "\r\n";
        chunk.append(bytes, 0, count).append("\r\n");
        if (!connection.send(chunk, silence)) return false;
    }
}

} // namespace

Transport::Transport(Endpoint endpoint, Timeouts timeouts) : m_endpoint(std::move(endpoint)), m_timeouts(timeouts) {}
Transport::~Transport() = default;

Error Transport::located(Error error) const {
    const bool ours = error.code() == ErrorCode::engine_unreachable || error.code() == ErrorCode::protocol_error;
    if (ours && error.message().find(m_endpoint.address()) == std::string::npos) {
        error.context("the engine at " + m_endpoint.address());
    }
    return error;
}

std::unique_ptr<HttpConnection> Transport::dial() {
    if (m_endpoint.kind == Endpoint::Kind::tls && !m_tls) m_tls = std::make_unique<TlsClient>(m_endpoint);
    Fd connected = connect_to(m_endpoint, m_timeouts.connect);
    if (!m_tls) return std::make_unique<HttpConnection>(std::make_unique<PlainSocket>(std::move(connected)));
    return std::make_unique<HttpConnection>(m_tls->handshake(std::move(connected), m_timeouts.connect));
}

HttpHead Transport::exchange_heads(HttpConnection& connection, const Request& request) {
    connection.expect_answer();
    const auto silence = request.header_timeout.value_or(m_timeouts.header);
    bool reading = connection.send(head_of(m_endpoint, request), silence);
    if (reading && !request.body.empty()) reading = connection.send(request.body, silence);
    if (reading && request.upload_fd >= 0) upload(connection, request.upload_fd, silence);
    return connection.read_head(silence);
}

Response Transport::call_once(const Request& request) {
    if (!m_kept) m_kept = dial();
    const HttpHead head = exchange_heads(*m_kept, request);
    HttpBody body(*m_kept, head, m_timeouts.header);
    Response response{head.status, body.read_all(k_max_answer), head};
    if (!body.leaves_connection_usable()) m_kept.reset();
    return response;
}

Response Transport::call(const Request& request) {
    if (m_kept && m_kept->is_stale()) m_kept.reset();
    const bool was_kept = m_kept != nullptr;
    try {
        try {
            return call_once(request);
        } catch (const Error& error) {
            // The engine may close a kept connection just as we send on it. After silence there is no second try:
            // a deadline is a deadline.
            const bool closed = m_kept && m_kept->is_unanswered() && m_kept->is_stale();
            m_kept.reset();
            if (!was_kept || !closed || request.method != "GET") throw;
            return call_once(request);
        }
    } catch (const Error& error) {
        m_kept.reset();
        throw located(error);
    }
}

Exchange Transport::open(const Request& request) {
    try {
        auto connection = dial();
        HttpHead head = exchange_heads(*connection, request);
        return {std::move(connection), std::move(head)};
    } catch (const Error& error) {
        throw located(error);
    }
}

Response Transport::finish(Exchange exchange) {
    try {
        HttpBody body(*exchange.connection, exchange.head, m_timeouts.header);
        std::string text = body.read_all(k_max_answer);
        return {exchange.head.status, std::move(text), std::move(exchange.head)};
    } catch (const Error& error) {
        throw located(error);
    }
}

} // namespace sandbox::engine
