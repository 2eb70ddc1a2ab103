// SPDX-License-Identifier: Apache-2.0
#include "agent/keeper_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>

namespace sandbox::agent {
namespace {

constexpr std::size_t k_piece = 16 << 10;
constexpr std::size_t k_queue = 256 << 10;

} // namespace

void KeeperClient::read_log(const ManagedQuery& query, const ProcessLog& log) {
    // Nothing has been seen from beyond the end, whatever its reader takes it for.
    m_position = std::min(query.after, log.end());
    if (query.since_ms > 0) m_position = std::max(m_position, log.since(query.since_ms));
    if (query.tail != UINT32_MAX) m_position = std::max(m_position, log.tail(query.tail));
    if (m_operation == Operation::read_log) m_until = log.end();
}

void KeeperClient::answer(std::string_view frame) {
    send(frame);
    m_is_last = true;
}

void KeeperClient::queue_gap(std::uint64_t end, std::int64_t wall_ms) {
    if (end == m_position) return;
    send(encode(LogFrame{.stream = LogStream::gap, .offset = m_position, .time_ms = wall_ms, .dropped = end - m_position, .bytes = {}}));
    m_position = end;
}

void KeeperClient::queue_piece(const LogFrame& piece) {
    queue_gap(piece.offset, piece.time_ms);
    LogFrame wanted = piece;
    wanted.bytes = piece.bytes.substr(0, m_until - piece.offset);
    send(encode(wanted));
    m_position = wanted.end();
}

void KeeperClient::feed(const ProcessLog& log, bool is_complete, const ManagedInfo& info) {
    if (m_is_last) return;
    while (m_position < m_until && m_outgoing.size() - m_sent < k_queue) {
        const auto piece = log.at(m_position, k_piece);
        if (!piece) break;
        // Behind by more than is kept: one big hole, once it has read what it has, and not many small ones.
        if (piece->offset > m_position && wants_write()) return;
        if (piece->offset < m_until) queue_piece(*piece);
        else queue_gap(m_until, piece->time_ms); // dropped while this client was slow
    }
    const bool is_all = m_position >= std::min(m_until, log.end());
    if (!wants_write() && is_all && (is_complete || m_operation == Operation::read_log)) answer(encode(LogEnd{m_position, info}));
}

bool KeeperClient::flush() {
    if (m_sent > k_queue / 2) {
        m_outgoing.erase(0, m_sent);
        m_sent = 0;
    }
    while (wants_write()) {
        const ssize_t sent = ::send(m_socket.get(), m_outgoing.data() + m_sent, m_outgoing.size() - m_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) m_sent += static_cast<std::size_t>(sent);
        else if (errno == EAGAIN) return true;
        else if (errno != EINTR) return false;
    }
    m_outgoing.clear();
    m_sent = 0;
    return true;
}

bool KeeperClient::look() {
    std::array<char, 512> scrap{};
    const ssize_t count = ::recv(m_socket.get(), scrap.data(), scrap.size(), MSG_DONTWAIT);
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

} // namespace sandbox::agent
