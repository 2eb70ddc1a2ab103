// SPDX-License-Identifier: Apache-2.0
// TCP connections into a session, many over one connection to its agent. Works without any network of the session's, and with servers
// that listen on its loopback only. As long as it is open the session is in use.
//
//   Forward forward(link);
//   forward.carry(std::move(accepted), 5173);
//   for (;;) { set.clear(); forward.watch(set); poll(...); forward.serve(set); }
#pragma once

#include "agent/tcp_relay.hpp"
#include "channel/agent_client.hpp"

#include <cstdint>
#include <functional>
#include <poll.h>
#include <span>
#include <vector>

namespace sandbox::channel {

class Forward {
  public:
    // Throws session_unreachable, or failed for a session of an older sandbox.
    explicit Forward(const Link& link);

    bool has_room() const { return m_relay.has_room(); }
    std::size_t streams() const { return m_relay.streams(); }
    // Carries a connected socket to a port of the session; only while has_room(). Returns the stream's number.
    std::uint32_t carry(Fd socket, std::uint16_t port) { return m_relay.open(std::move(socket), port); }

    // Appends what to poll for; serve() wants that very set, polled. What came before, the poll must not wait for.
    void watch(std::vector<pollfd>& set);
    bool is_ready() { return m_connection.stream().buffered(); }
    // Throws session_gone when the session's own deadline ends it, session_unreachable when the connection is cut, protocol_error.
    void serve(std::span<const pollfd> set);
    // Sends what carry() has to say without waiting for the next serve(). Throws as that does.
    void flush();

    // `error` is errno where the session refused the connection (ECONNREFUSED: nothing listens), 0 where it was reset.
    void on_cut(std::function<void(std::uint32_t stream, std::uint16_t port, int error)> told) { m_relay.on_cut = std::move(told); }
    // When the port's server has said or taken something.
    void on_answer(std::function<void(std::uint32_t stream, std::uint16_t port)> told) { m_relay.on_answer = std::move(told); }

  private:
    void take_frames();
    template <typename Work> void guarded(Work work);

    agent::FramedStream m_connection;
    agent::TcpRelay m_relay;
    std::size_t m_slot = 0;
};

} // namespace sandbox::channel
