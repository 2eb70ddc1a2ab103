// SPDX-License-Identifier: Apache-2.0
#include "engine/http.hpp"

#include "util/text.hpp"

#include <algorithm>
#include <charconv>

namespace sandbox::engine {
namespace {

// A chunk's size line and each trailer; both limits are far above anything that a real server sends.
constexpr std::size_t k_max_line = 8192;
constexpr int k_max_trailers = 100;

std::uint64_t parse_number(std::string_view text, int base, const char* what) {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (failure != std::errc{} || end != text.data() + text.size()) {
        throw Error(ErrorCode::protocol_error, std::string("malformed ") + what + ": " + printable(text.substr(0, 80)));
    }
    return value;
}

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

} // namespace

HttpBody::HttpBody(HttpConnection& connection, const HttpHead& head, HttpConnection::Timeout silence,
                   ErrorCode when_cut)
    : m_connection(connection), m_silence(silence), m_when_cut(when_cut) {
    choose_framing(head);
    const bool persistent = head.minor_version >= 1 ? !head.has_token("Connection", "close")
                                                    : head.has_token("Connection", "keep-alive");
    m_keep_alive = persistent && m_framing != Framing::until_close;
}

// RFC 9112, section 6.3. An answer to HEAD has no body either; no call here is a HEAD.
void HttpBody::choose_framing(const HttpHead& head) {
    if (has_no_body(head.status)) {
        m_framing = Framing::length;
        m_finished = true;
        return;
    }
    if (const auto encoding = head.find("Transfer-Encoding")) {
        if (!head.has_token("Transfer-Encoding", "chunked") || encoding->find(',') != std::string_view::npos) {
            throw Error(ErrorCode::protocol_error, "unknown transfer encoding: " + printable(*encoding));
        }
        m_framing = Framing::chunked;
        return;
    }
    const auto length = head.find("Content-Length");
    if (!length) return;
    m_framing = Framing::length;
    m_left = parse_number(*length, 10, "Content-Length");
    for (const auto& [name, value] : head.headers) {
        const HttpHead one{head.status, 1, {{name, value}}};
        if (one.find("Content-Length") && value != *length) {
            throw Error(ErrorCode::protocol_error, "the answer has two different lengths");
        }
    }
    m_finished = m_left == 0;
}

std::size_t HttpBody::read(std::span<char> buffer) {
    if (m_finished || buffer.empty()) return 0;
    if (m_framing == Framing::chunked && m_left == 0) {
        start_chunk();
        if (m_finished) return 0;
    }
    if (m_framing != Framing::until_close) {
        buffer = buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), m_left)));
    }
    const std::size_t count = m_connection.read(buffer, m_silence);
    if (m_framing == Framing::until_close) {
        if (count == 0 && m_connection.was_reset()) throw cut();
        m_finished = count == 0;
        return count;
    }
    if (count == 0) throw cut();
    m_left -= count;
    if (m_framing == Framing::length) m_finished = m_left == 0;
    return count;
}

void HttpBody::start_chunk() {
    // The line end that belongs to the chunk before.
    if (!m_first_chunk && !line().empty()) throw Error(ErrorCode::protocol_error, "a chunk is longer than its size");
    m_first_chunk = false;
    const std::string text = line();
    std::string_view size = std::string_view(text).substr(0, text.find(';'));
    while (size.ends_with(' ') || size.ends_with('\t')) size.remove_suffix(1);
    m_left = parse_number(size, 16, "chunk size");
    if (m_left == 0) finish_chunked();
}

void HttpBody::finish_chunked() {
    for (int trailers = 0; !line().empty();) {
        if (++trailers > k_max_trailers) throw Error(ErrorCode::protocol_error, "too many trailers");
    }
    m_finished = true;
}

std::string HttpBody::line() {
    auto text = m_connection.read_line(k_max_line, m_silence);
    if (!text) throw cut();
    return std::move(*text);
}

Error HttpBody::cut() const { return Error(m_when_cut, "the answer was cut before its end"); }

std::string HttpBody::read_all(std::size_t limit) {
    std::string content;
    char bytes[16384];
    while (const std::size_t count = read(bytes)) {
        if (content.size() + count > limit) {
            throw Error(ErrorCode::engine_error, "the answer is longer than " + std::to_string(limit) + " bytes");
        }
        content.append(bytes, count);
    }
    return content;
}

} // namespace sandbox::engine
