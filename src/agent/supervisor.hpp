// SPDX-License-Identifier: Apache-2.0
// The one poll loop of an exec worker. See exec_worker.hpp; split from it by topic:
// supervisor.cpp moves streams and frames, supervisor_tree.cpp ends trees and says how it all ended.
#pragma once

#include "agent/exec_worker.hpp"
#include "agent/leader.hpp"
#include "agent/messages.hpp"
#include "agent/outbox.hpp"
#include "agent/stdin_pump.hpp"
#include "agent/subtree.hpp"

#include <array>
#include <optional>
#include <poll.h>

namespace sandbox::agent {

class Supervisor {
  public:
    Supervisor(WorkerConnection& connection, int control, const ExecContext& context, const ExecMessage& request);

    void run(const LeaderSpec& spec);
    // Waits for what the command left in the background, so that its pipes stay open and its zombies are reaped.
    void mind_background();

  private:
    enum class Reason { none, timed_out, client_signal, client_lost, expired };
    struct Output {
        Fd fd;
        FrameType type = FrameType::stdout_data;
        std::uint64_t bytes = 0;
        std::optional<std::size_t> left; // of what lay in the pipe when the leader ended
        bool is_done() const { return !fd || left == 0U; }
    };
    enum Slot : std::size_t { k_client, k_children, k_control, k_input, k_output, k_errors, k_slots };
    using PollSet = std::array<pollfd, k_slots>;

    // supervisor.cpp
    void serve();
    PollSet poll_set() const;
    int poll_timeout() const;
    void handle(const PollSet& set);
    void read_client();
    void take_frames();
    void take_frame(const FrameView& frame);
    void give_credit();
    void flush();
    void pump(Output& output);
    void end_output(Output& output);
    void start_draining();
    bool is_drained() const;
    void send_result();
    void lose_client();

    // supervisor_tree.cpp
    void reap();
    void take_signal(int number);
    void take_control();
    void begin_end(Reason reason, int signal);
    void kill_tree();
    void check_deadlines();
    // An ordered end goes on until the last descendant is gone, even when the leader was the first to go.
    bool is_over() const { return m_reason == Reason::none ? m_leader_ended || m_is_detached : m_tree_gone; }
    ResultMessage result() const;
    void describe_end(ResultMessage& message) const;

    WorkerConnection& m_connection;
    int m_control;
    const ExecContext& m_context;
    const ExecMessage m_request;
    Subtree m_tree;
    Leader m_leader;
    std::optional<StartFailure> m_start_failure;
    Outbox m_outbox;
    StdinPump m_input{Fd(), false};
    std::array<Output, 2> m_outputs;

    Reason m_reason = Reason::none;
    bool m_client_lost = false;
    bool m_leader_ended = false;
    bool m_is_detached = false; // the command goes on, as what others leave in the background
    bool m_tree_gone = false; // after an ordered end: no descendant is left
    bool m_is_draining = false;
    int m_wait_status = 0;
    int m_left_running = 0;
    std::uint64_t m_oom_before = 0;
    std::int64_t m_started_at = 0;
    std::int64_t m_ended_at = 0;
    std::int64_t m_timeout_at = 0; // 0: none
    std::int64_t m_kill_at = 0;    // 0: none
    std::int64_t m_resume_at = 0;  // 0: output is read
    std::int64_t m_quiet_at = 0;   // a terminal is taken for drained then
};

} // namespace sandbox::agent
