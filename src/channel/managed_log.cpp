// SPDX-License-Identifier: Apache-2.0
#include "channel/managed_log.hpp"

#include "channel/managed_wire.hpp"
#include "util/error.hpp"
#include "util/poll_time.hpp"

#include <algorithm>
#include <limits>
#include <poll.h>

namespace sandbox::channel {
namespace {

using agent::FrameType;
using agent::FrameView;

// Offsets count bytes; past this an agent lies, and sums would wrap.
constexpr std::uint64_t k_most = std::numeric_limits<std::int64_t>::max();

agent::ManagedQuery message_of(const LogQuery& query) {
    agent::ManagedQuery message{.process = query.process, .after = query.after, .since_ms = query.since_ms};
    if (query.tail) message.tail = std::min(*query.tail, UINT32_MAX - 1);
    return message;
}

// A name may have passed on to a new process since somebody read from the last one.
Error another_process(std::uint64_t after) {
    return Error(ErrorCode::conflict, "the log ends before offset " + std::to_string(after) + ": it is another process's than the one that was read")
        .hint("leave --after out, or name the process by its id");
}

agent::Operation operation_of(Follow follow) { return follow == Follow::yes ? agent::Operation::follow_log : agent::Operation::read_log; }

} // namespace

std::string query_request(const agent::ManagedQuery& query) {
    if (agent::is_process_id(query.process) || agent::is_process_name(query.process)) return agent::encode(query);
    throw Error(ErrorCode::not_found, "no managed process is called so");
}

FrameView await_frame(agent::FramedStream& connection) {
    const auto frame = connection.read_view();
    if (!frame) throw agent::CutStream();
    if (frame->type == FrameType::failure) throw agent_failure(frame->payload);
    return *frame;
}

bool has_frame_before(agent::FramedStream& connection, std::int64_t until) {
    if (connection.stream().buffered()) return true;
    pollfd readable{connection.fd(), POLLIN, 0};
    return ::poll(&readable, 1, poll_time_until(until)) > 0;
}

agent::ManagedInfo checked(agent::ManagedInfo info) {
    if (info.id.empty()) throw agent::WireError("a process without an id");
    return info;
}

LogReader::LogReader(const Link& link, const LogQuery& query, Follow follow)
    : m_connection(open_live_connection(link, operation_of(follow), query_request(message_of(query)))), m_position(query.after) {}

std::optional<LogPiece> LogReader::next() {
    for (;;) {
        if (auto piece = buffered()) return piece;
        if (m_end) return std::nullopt;
        fill();
    }
}

std::optional<LogPiece> LogReader::buffered() {
    return speak([this]() -> std::optional<LogPiece> {
        if (m_end) return std::nullopt;
        const auto frame = m_connection.buffered_view();
        if (!frame) return std::nullopt;
        if (frame->type == FrameType::data) return take(agent::decode_log_frame(frame->payload));
        if (frame->type == FrameType::failure) throw agent_failure(frame->payload);
        if (frame->type != FrameType::done) throw agent::WireError("unexpected frame in a log");
        agent::LogEnd end = agent::decode_log_end(frame->payload);
        if (m_is_first && end.next < m_position) throw another_process(m_position);
        if (end.next > k_most || (!m_is_first && end.next != m_position)) throw agent::WireError("a log with a hole");
        m_position = end.next;
        end.info = checked(std::move(end.info));
        m_end = std::move(end);
        return std::nullopt;
    });
}

void LogReader::fill() {
    speak([this] {
        if (!m_connection.fill()) throw agent::CutStream();
    });
}

// Every byte is told of once: what is missing is a piece of its own.
LogPiece LogReader::take(const agent::LogFrame& frame) {
    if (m_is_first && frame.offset < m_position) throw another_process(m_position);
    const bool is_in_order = m_is_first || frame.offset == m_position;
    if (!is_in_order || frame.offset > k_most || frame.dropped > k_most || frame.end() > k_most) throw agent::WireError("a log out of order");
    LogPiece piece;
    piece.stream = frame.stream == agent::LogStream::err ? OutputStream::err : OutputStream::out;
    piece.offset = frame.offset;
    piece.time_ms = frame.time_ms;
    piece.dropped = frame.dropped;
    piece.bytes = frame.bytes;
    if (piece.end() == piece.offset) throw agent::WireError("an empty piece of a log");
    m_is_first = false;
    m_position = frame.end();
    return piece;
}

} // namespace sandbox::channel
