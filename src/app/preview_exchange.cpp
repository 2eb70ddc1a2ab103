// SPDX-License-Identifier: Apache-2.0
#include "app/preview_exchange.hpp"

#include "util/error.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <sys/socket.h>

namespace sandbox::app {
namespace {

constexpr std::size_t k_piece = 64 << 10;
constexpr std::int64_t k_head_patience_ms = 30'000;
constexpr std::int64_t k_farewell_patience_ms = 5'000;
constexpr std::size_t k_not_watched = SIZE_MAX;
constexpr int k_most_interim = 16;
constexpr std::string_view k_continue = "HTTP/1.1 100 Continue\r\n\r\n";

// What has come without waiting; absent where nothing has, empty at the end, which a reset is too: `is_reset` says which.
std::optional<std::string> receive(const Fd& socket, bool& is_reset) {
    std::string bytes(k_piece, '\0');
    const ssize_t count = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    is_reset = count < 0;
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
}

// Where a head ends, its blank line included; servers may leave the CRs out.
std::size_t end_of_head(std::string_view text) {
    const auto strict = text.find("\r\n\r\n");
    const auto lax = text.find("\n\n");
    if (strict == std::string_view::npos && lax == std::string_view::npos) return std::string_view::npos;
    return strict < lax ? strict + 4 : lax + 2;
}

// Absent where the end of the connection is the end of the answer.
std::optional<std::uint64_t> content_length(const engine::HttpHead& head) {
    const auto text = head.find("Content-Length");
    std::uint64_t length = 0;
    if (!text) return std::nullopt;
    const char* end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, length);
    if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
    return length;
}

// RFC 9110, 6.4.1: whatever length these say is that of what another request would have got.
bool has_no_body(int status) { return status == 204 || status == 304; }

std::size_t watch_one(std::vector<pollfd>& set, const Fd& socket, short events) {
    if (!socket || events == 0) return k_not_watched;
    set.push_back({socket.get(), events, 0});
    return set.size() - 1;
}

short events_of(std::span<const pollfd> set, std::size_t slot) { return slot < set.size() ? set[slot].revents : short{0}; }

} // namespace

PreviewExchange::PreviewExchange(Fd browser, const Gate& gate, Open open, NoServer no_server)
    : m_browser(std::move(browser)), m_gate(gate), m_open(std::move(open)), m_no_server(std::move(no_server)),
      m_deadline(boot_now_ms() + k_head_patience_ms) {}

void PreviewExchange::watch(std::vector<pollfd>& set) {
    const auto wants = [](bool reads, const Way& writes) { return static_cast<short>((reads ? POLLIN : 0) | (writes.is_empty() ? 0 : POLLOUT)); };
    const bool reads_browser = m_phase == Phase::request || m_phase == Phase::farewell || (!m_up.ended && m_up.is_empty());
    const bool reads_server = !m_down.ended && m_down.is_empty();
    m_browser_slot = watch_one(set, m_browser, wants(reads_browser, m_down));
    m_server_slot = watch_one(set, m_server, wants(reads_server, m_up));
}

void PreviewExchange::serve(std::span<const pollfd> set) {
    if ((events_of(set, m_browser_slot) & ~POLLOUT) != 0) read_browser();
    if ((events_of(set, m_server_slot) & ~POLLOUT) != 0 && !is_over()) read_server();
    if (is_over()) return;
    flush(m_up, m_server);
    flush(m_down, m_browser);
    settle();
}

void PreviewExchange::read_browser() {
    bool is_reset = false;
    if (m_phase != Phase::request && m_phase != Phase::farewell && (m_up.ended || !m_up.is_empty())) return;
    auto bytes = receive(m_browser, is_reset);
    if (!bytes) return;
    if (is_reset || (bytes->empty() && (m_phase == Phase::request || m_phase == Phase::farewell))) return give_up();
    if (m_phase == Phase::farewell) return; // nobody wants it any more
    if (m_phase == Phase::request) {
        m_request += *bytes;
        return take_request();
    }
    m_up.ended = bytes->empty();
    m_up.waiting = std::move(*bytes);
    m_up.offset = 0;
}

void PreviewExchange::take_request() {
    const auto end = m_request.find("\r\n\r\n");
    if (end == std::string::npos) {
        if (m_request.size() > k_max_preview_head) answer(page_answer(431, "Too much", "The head of the request is too long."));
        return;
    }
    try {
        const std::string_view whole = m_request;
        const PreviewRequest request = parse_preview_request(whole.substr(0, end + 4));
        const Verdict verdict = judge(request, m_gate);
        switch (verdict.kind) {
        case Verdict::Kind::refuse: return answer(page_answer(403, "Not allowed", verdict.why));
        case Verdict::Kind::redirect: return answer(redirect_answer(request, verdict, m_gate));
        case Verdict::Kind::pass: return pass_on(request, verdict, whole.substr(end + 4));
        }
    } catch (const Error& error) {
        if (error.code() != ErrorCode::protocol_error) throw;
        answer(page_answer(400, "Malformed request", "The request holds " + error.message() + "."));
    }
}

void PreviewExchange::pass_on(const PreviewRequest& request, const Verdict& verdict, std::string_view rest) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) throw errno_error("cannot make a socket");
    m_server.reset(ends[0]);
    m_stream = m_open(Fd(ends[1]));
    m_up.waiting = head_for_server(request, verdict, m_gate).append(rest);
    m_is_upgrade = request.is_upgrade;
    m_is_head = request.method == "HEAD";
    m_phase = Phase::answer;
    m_deadline.reset();
    m_request = {};
}

void PreviewExchange::read_server() {
    if (m_phase == Phase::farewell || m_down.ended || !m_down.is_empty()) return;
    bool is_reset = false;
    auto bytes = receive(m_server, is_reset);
    if (!bytes) return;
    m_down.ended = bytes->empty();
    if (m_phase == Phase::passing && m_down.ended && m_is_reset && m_body_left != std::uint64_t{0}) return reset_browser();
    if (m_phase == Phase::passing) {
        if (m_body_left) *m_body_left -= std::min<std::uint64_t>(*m_body_left, bytes->size());
        m_down.waiting = std::move(*bytes);
        m_down.offset = 0;
    } else if (bytes->empty()) {
        no_answer();
    } else {
        m_answer += *bytes;
        take_answer();
    }
}

void PreviewExchange::take_answer() {
    try {
        for (auto end = end_of_head(m_answer); end != std::string::npos; end = end_of_head(m_answer)) {
            const engine::HttpHead head = engine::parse_head(std::string_view(m_answer).substr(0, end));
            const bool is_interim = head.status < 200 && !(head.status == 101 && m_is_upgrade);
            if (is_interim && ++m_interim > k_most_interim) throw Error(ErrorCode::protocol_error, "nothing but interim answers");
            if (head.status == 100) m_down.waiting = k_continue;
            if (!is_interim) {
                m_body_left = m_is_head || has_no_body(head.status) ? 0 : content_length(head);
                if (m_body_left) *m_body_left -= std::min<std::uint64_t>(*m_body_left, m_answer.size() - end);
                m_down.waiting += head_for_browser(head, m_is_upgrade) + m_answer.substr(end);
                m_answer = {};
                m_phase = Phase::passing;
                if (m_is_upgrade && head.status != 101) m_is_upgrade = false;
                return;
            }
            m_answer.erase(0, end);
        }
        if (m_answer.size() > k_max_preview_head) throw Error(ErrorCode::protocol_error, "a head that is too long");
    } catch (const Error& error) {
        if (error.code() != ErrorCode::protocol_error) throw;
        answer(page_answer(502, "No answer to be shown", "What the server in the session has answered is not HTTP."));
    }
}

void PreviewExchange::no_answer() {
    answer(m_refused != 0 ? page_answer(502, "Nothing there", m_no_server(m_refused)) : page_answer(502, "No answer", "The server in the session has closed the connection without an answer."));
}

// The last word to the browser.
void PreviewExchange::answer(std::string text) {
    m_down = {std::move(text), 0, true, false};
    m_up = {{}, 0, true, true};
    m_server.reset();
    m_phase = Phase::passing;
    m_deadline = boot_now_ms() + k_head_patience_ms;
}

// What the server has said before is still on its way here, and its end comes behind it.
void PreviewExchange::cut(int error) {
    m_refused = error;
    m_is_reset = error == 0;
    if (m_refused != 0 && m_phase == Phase::answer) no_answer();
}

// An answer without a length ends with the connection: only a reset tells a part of one from a whole one.
void PreviewExchange::reset_browser() {
    const linger at_once{1, 0};
    ::setsockopt(m_browser.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    give_up();
}

void PreviewExchange::flush(Way& way, const Fd& target) {
    while (target && !way.is_empty()) {
        const ssize_t count = ::send(target.get(), way.waiting.data() + way.offset, way.waiting.size() - way.offset, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        if (count < 0) {
            // A server need not read all of a request before it answers; a browser that is gone wants nothing.
            if (&way == &m_down) give_up();
            way.offset = way.waiting.size();
            way.ended = way.closed = true;
            return;
        }
        way.offset += static_cast<std::size_t>(count);
    }
    if (way.is_empty()) {
        way.waiting.clear();
        way.offset = 0;
    }
    if (target && way.is_empty() && way.ended && !way.closed) {
        ::shutdown(target.get(), SHUT_WR);
        way.closed = true;
    }
}

void PreviewExchange::settle() {
    if (m_phase != Phase::passing || !m_down.closed) return;
    if (m_is_upgrade && !m_up.closed) return; // each direction of a WebSocket's connection ends by itself
    m_server.reset();
    m_up = {{}, 0, true, true};
    if (m_phase == Phase::passing) m_deadline = boot_now_ms() + k_farewell_patience_ms;
    m_phase = Phase::farewell;
}

} // namespace sandbox::app
