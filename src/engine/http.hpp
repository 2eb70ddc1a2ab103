// SPDX-License-Identifier: Apache-2.0
// The part of HTTP/1.1 (RFC 9112) that an engine speaks: one connection, one exchange at a time, a deadline on every
// wait. Written by hand because an attached exec needs the raw socket back, with the bytes that came with the header.
//
//   HttpConnection connection(std::make_unique<PlainSocket>(connect_to(endpoint, timeout)));
//   connection.send(request_head("GET", "/info", "docker", {}), timeout);
//   const HttpHead head = connection.read_head(timeout);
//   HttpBody body(connection, head, timeout);
#pragma once

#include "engine/socket.hpp"
#include "util/error.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sandbox::engine {

using Headers = std::vector<std::pair<std::string, std::string>>;

// A head longer than this is refused with protocol_error.
constexpr std::size_t k_max_head = 65536;

struct HttpHead {
    int status = 0;
    int minor_version = 1; // HTTP/1.x
    Headers headers;       // in order; names as they came

    // The first header of that name, whatever its case.
    std::optional<std::string_view> find(std::string_view name) const;
    // Whether the comma-separated list in that header (or in several of them) holds `token`.
    bool has_token(std::string_view name, std::string_view token) const;
};

// Status line and headers, blank line included or not. Throws protocol_error.
HttpHead parse_head(std::string_view text);
// The request line and headers with the blank line; Host is added.
std::string request_head(std::string_view method, std::string_view target, std::string_view host,
                         const Headers& headers);
// Everything but RFC 3986's unreserved characters becomes %XX: for one segment of a path or one query value.
std::string percent_encode(std::string_view text);

class HttpConnection {
  public:
    using Timeout = std::chrono::milliseconds;

    explicit HttpConnection(std::unique_ptr<Socket> socket) : m_socket(std::move(socket)) {}

    // False when the other side has stopped reading: it may have answered early, so read_head is worth a try. Throws
    // engine_unreachable after `silence` without progress.
    bool send(std::string_view bytes, Timeout silence);
    // Waits at most `deadline` in all; skips 1xx except 101. Throws engine_unreachable for silence and for an end
    // before the head is whole, protocol_error for a malformed or huge one.
    HttpHead read_head(Timeout deadline);
    // Bytes that came with the head first. 0 at end of file and after a reset.
    std::size_t read(std::span<char> buffer, Timeout silence);
    // A line without its end, at most `limit` bytes (protocol_error beyond); absent when the stream ends before it.
    std::optional<std::string> read_line(std::size_t limit, Timeout silence);

    // The end that read() reported was a reset, so what came before it may not be all.
    bool was_reset() const { return m_reset; }
    // The other side closed an idle connection, or said something that nobody asked for.
    bool is_stale() const;
    // Not one byte has come since the last request was sent.
    bool is_unanswered() const { return m_unanswered; }
    void expect_answer() { m_unanswered = true; }

    // For a hijacked stream: the bytes after the head, and the socket itself.
    std::string take_buffered();
    std::unique_ptr<Socket> take_socket() { return std::move(m_socket); }

  private:
    // Appends what is there; false at end of file.
    bool fill(std::chrono::steady_clock::time_point deadline, Timeout stated);
    std::string read_head_text(Timeout deadline, std::chrono::steady_clock::time_point until);

    std::unique_ptr<Socket> m_socket;
    std::string m_buffer;
    std::size_t m_used = 0; // bytes of m_buffer that were given out
    bool m_unanswered = true;
    bool m_reset = false;
};

// The body of one answer, by Content-Length, chunked, or up to the end of the connection.
class HttpBody {
  public:
    // `when_cut` is the code of the Error for a body that ends before its end. Throws protocol_error for lengths and
    // encodings that make no sense.
    HttpBody(HttpConnection& connection, const HttpHead& head, HttpConnection::Timeout silence,
             ErrorCode when_cut = ErrorCode::engine_unreachable);
    // 0 at the end of the body, and only when it came whole.
    std::size_t read(std::span<char> buffer);
    // The whole rest; more than `limit` bytes throws engine_error.
    std::string read_all(std::size_t limit);
    // Whether the answer itself says where it ends, so that a cut one can be told from a whole one.
    bool is_delimited() const { return m_framing != Framing::until_close; }
    // Whether the connection can carry another request: the body was read to its end and nobody said close.
    bool leaves_connection_usable() const { return m_finished && m_keep_alive; }

  private:
    enum class Framing { length, chunked, until_close };
    void choose_framing(const HttpHead& head);
    void start_chunk();
    void finish_chunked();
    std::string line();
    Error cut() const;

    HttpConnection& m_connection;
    HttpConnection::Timeout m_silence;
    ErrorCode m_when_cut;
    Framing m_framing = Framing::until_close;
    std::uint64_t m_left = 0; // of the body, or of the chunk
    bool m_finished = false;
    bool m_keep_alive = false;
    bool m_first_chunk = true;
};

} // namespace sandbox::engine
