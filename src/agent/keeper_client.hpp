// SPDX-License-Identifier: Apache-2.0
// One of the connections that a keeper serves at once: what is on its way to it, never more than a bounded queue, and where in the log
// it is. A client that does not read holds up nobody and costs no more memory: a follower that falls too far behind gets a gap.
//
//   client.feed(log, is_complete, info); if (!client.flush()) drop(client);
#pragma once

#include "agent/process_log.hpp"
#include "util/fd.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sandbox::agent {

class KeeperClient {
  public:
    // `number`: by which PID 1 knows it; 0 for the one that started the process.
    KeeperClient(Fd socket, Operation operation, std::uint32_t number) : m_socket(std::move(socket)), m_operation(operation), m_number(number) {}

    int fd() const { return m_socket.get(); }
    Operation operation() const { return m_operation; }
    std::uint32_t number() const { return m_number; }
    bool reads_log() const { return m_operation == Operation::read_log || m_operation == Operation::follow_log; }
    bool is_over() const { return m_is_last && !wants_write(); }
    bool has_answer() const { return m_is_last; }
    bool wants_write() const { return m_sent < m_outgoing.size(); }

    // From where on, and up to where (follow_log: its end), it reads the log.
    void read_log(const ManagedQuery& query, const ProcessLog& log);
    // Queues one small frame; with answer() it is the last.
    void send(std::string_view frame) { m_outgoing += frame; }
    void answer(std::string_view frame);
    // Queues what the log has for it, as far as the queue goes, and its end once there is one: `is_complete` says that nothing more will come.
    void feed(const ProcessLog& log, bool is_complete, const ManagedInfo& info);
    // Sends what the socket takes. False when the client is gone.
    bool flush();
    // Reads what nobody should have sent. False when the client is gone.
    bool look();

  private:
    void queue_gap(std::uint64_t end, std::int64_t wall_ms);
    void queue_piece(const LogFrame& piece);

    Fd m_socket;
    Operation m_operation;
    std::uint32_t m_number;
    std::string m_outgoing;
    std::size_t m_sent = 0;
    bool m_is_last = false; // nothing more is queued
    std::uint64_t m_position = 0;
    std::uint64_t m_until = UINT64_MAX;
};

} // namespace sandbox::agent
