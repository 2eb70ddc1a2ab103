// SPDX-License-Identifier: Apache-2.0
#include "channel/forward.hpp"

#include "channel/connection.hpp"

namespace sandbox::channel {
namespace {

using agent::FrameType;

constexpr std::size_t k_stream_header = 1 + 4; // the word, the stream

bool is_farewell(std::string_view payload) {
    return payload.size() == k_stream_header && static_cast<agent::StreamWord>(payload[0]) == agent::StreamWord::expired;
}

Error cut() { return {ErrorCode::session_unreachable, "the session ended or stopped answering"}; }

} // namespace

Forward::Forward(const Link& link) : m_connection(open_live_connection(link, agent::Operation::forward, {})), m_relay(FrameType::request) {
    const agent::FrameView frame = read_before(m_connection, boot_now_ms() + hello_patience(link).count());
    if (frame.type != FrameType::reply || !frame.payload.empty()) throw broken_protocol("no reply");
}

void Forward::watch(std::vector<pollfd>& set) {
    m_slot = set.size();
    const short writing = m_relay.outgoing().empty() ? 0 : POLLOUT;
    set.push_back({m_connection.fd(), static_cast<short>(POLLIN | writing), 0});
    m_relay.watch(set);
}

template <typename Work> void Forward::guarded(Work work) {
    try {
        work();
    } catch (const agent::CutStream&) {
        throw cut();
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    } catch (const Error& error) {
        if (error.code() == ErrorCode::io_error) throw cut();
        throw;
    }
}

void Forward::serve(std::span<const pollfd> set) {
    guarded([&] {
        const bool has_come = (m_slot < set.size() && (set[m_slot].revents & ~POLLOUT) != 0) || is_ready();
        if (has_come && !m_connection.fill()) throw cut();
        take_frames();
        m_relay.serve(set);
    });
    flush();
}

// An agent that takes nothing (a frozen container's, a hostile one) must keep nobody from ending this, so that nothing waits for it.
void Forward::flush() {
    guarded([this] {
        while (!m_relay.outgoing().empty()) {
            const std::size_t taken = m_connection.stream().write_some(m_relay.outgoing());
            if (taken == 0) return;
            m_relay.consume(taken);
        }
    });
}

void Forward::take_frames() {
    while (const auto frame = m_connection.buffered_view()) {
        if (frame->type == FrameType::failure) throw agent_failure(frame->payload);
        if (frame->type != FrameType::reply) throw agent::WireError("unexpected frame in a forward");
        if (is_farewell(frame->payload)) throw Error(ErrorCode::session_gone, "the session expired");
        m_relay.take(frame->payload);
    }
}

} // namespace sandbox::channel
