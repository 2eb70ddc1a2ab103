// SPDX-License-Identifier: Apache-2.0
#include "engine/http.hpp"

#include "util/time.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>

namespace sandbox::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Waits until `events` or an error is there; throws when it is `until` before that.
void wait_for(int fd, short events, Clock::time_point until, std::chrono::milliseconds stated) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        pollfd entry{fd, events, 0};
        const int count = left <= 0 ? 0 : ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left, 1 << 30)));
        if (count > 0) return;
        if (count == 0) {
            throw Error(ErrorCode::engine_unreachable, "no answer within " + format_duration(stated))
                .hint("the engine may be overloaded or stuck: try again, or restart it");
        }
        if (errno != EINTR) throw errno_error("cannot wait for the engine");
    }
}

bool other_side_is_gone(int error_number) {
    return error_number == EPIPE || error_number == ECONNRESET || error_number == ENOTCONN;
}

// Past the blank line that ends a head; npos while it has not come. Bare line feeds are taken as well.
std::size_t end_of_head(std::string_view text, std::size_t from) {
    for (auto at = text.find('\n', from); at != std::string_view::npos; at = text.find('\n', at + 1)) {
        if (text.substr(at + 1).starts_with('\n')) return at + 2;
        if (text.substr(at + 1).starts_with("\r\n")) return at + 3;
    }
    return std::string_view::npos;
}

} // namespace

bool HttpConnection::send(std::string_view bytes, Timeout silence) {
    while (!bytes.empty()) {
        const ssize_t count = m_socket->send(bytes);
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            wait_for(m_socket->fd(), m_socket->wanted(POLLOUT), Clock::now() + silence, silence);
        } else if (other_side_is_gone(errno)) {
            return false;
        } else if (errno != EINTR) {
            throw errno_error("cannot send to the engine");
        }
    }
    return true;
}

HttpHead HttpConnection::read_head(Timeout deadline) {
    const auto until = Clock::now() + deadline;
    for (;;) {
        HttpHead head = parse_head(read_head_text(deadline, until));
        if (head.status >= 200 || head.status == 101) return head;
    }
}

std::string HttpConnection::read_head_text(Timeout deadline, Clock::time_point until) {
    std::size_t scanned = m_used;
    for (;;) {
        const std::size_t end = end_of_head(m_buffer, scanned);
        if (end != std::string::npos && end - m_used <= k_max_head) {
            std::string text = m_buffer.substr(m_used, end - m_used);
            m_used = end;
            return text;
        }
        if (m_buffer.size() - m_used > k_max_head) {
            throw Error(ErrorCode::protocol_error, "the answer has a header of more than 64 KiB");
        }
        // The blank line may have begun in what was scanned: look again from two bytes before its end.
        const std::size_t rest = m_buffer.size() - m_used;
        if (!fill(until, deadline)) {
            throw Error(ErrorCode::engine_unreachable, rest == 0 ? "the connection was closed without an answer"
                                                                 : "the answer was cut in its header");
        }
        scanned = m_used + (rest > 2 ? rest - 2 : 0);
    }
}

bool HttpConnection::fill(Clock::time_point until, Timeout stated) {
    if (m_used > 0) {
        m_buffer.erase(0, m_used);
        m_used = 0;
    }
    std::array<char, 16384> bytes;
    for (;;) {
        const ssize_t count = m_socket->receive(bytes);
        if (count > 0) {
            m_unanswered = false;
            m_buffer.append(bytes.data(), static_cast<std::size_t>(count));
            return true;
        }
        if (count == 0 || other_side_is_gone(errno)) return false;
        if (errno == EAGAIN) wait_for(m_socket->fd(), m_socket->wanted(POLLIN), until, stated);
        else if (errno != EINTR) throw errno_error("cannot read from the engine");
    }
}

std::size_t HttpConnection::read(std::span<char> buffer, Timeout silence) {
    if (m_used < m_buffer.size()) {
        const std::size_t count = std::min(buffer.size(), m_buffer.size() - m_used);
        std::memcpy(buffer.data(), m_buffer.data() + m_used, count);
        m_used += count;
        return count;
    }
    for (;;) {
        const ssize_t count = m_socket->receive(buffer);
        if (count >= 0) return static_cast<std::size_t>(count);
        if (other_side_is_gone(errno)) {
            m_reset = true;
            return 0;
        }
        if (errno == EAGAIN) wait_for(m_socket->fd(), m_socket->wanted(POLLIN), Clock::now() + silence, silence);
        else if (errno != EINTR) throw errno_error("cannot read from the engine");
    }
}

std::optional<std::string> HttpConnection::read_line(std::size_t limit, Timeout silence) {
    for (;;) {
        const std::size_t end = m_buffer.find('\n', m_used);
        if (end != std::string::npos && end - m_used <= limit) {
            std::string line = m_buffer.substr(m_used, end - m_used);
            m_used = end + 1;
            if (line.ends_with('\r')) line.pop_back();
            return line;
        }
        if (m_buffer.size() - m_used > limit) {
            throw Error(ErrorCode::protocol_error, "the answer has a line that is too long");
        }
        if (!fill(Clock::now() + silence, silence)) return std::nullopt;
    }
}

bool HttpConnection::is_stale() const {
    return m_used < m_buffer.size() || !m_socket->is_quiet();
}

std::string HttpConnection::take_buffered() {
    std::string rest = m_buffer.substr(m_used);
    m_buffer.clear();
    m_used = 0;
    return rest;
}

} // namespace sandbox::engine
