// SPDX-License-Identifier: Apache-2.0
// The worker of one managed process: starts it, keeps its log, restarts and ends it, and serves all who ask, in one poll loop that no
// client holds up. Everything that the process starts stays below its keeper; PID 1 passes connections on to it, and is told what
// becomes of the process. It lives on when the process has ended, for its log, until PID 1 lets it go.
//
//   ::_exit(run_keeper(connection, control_socket, context));
#pragma once

#include "agent/command_words.hpp"
#include "agent/exec_worker.hpp"
#include "agent/keeper_client.hpp"
#include "agent/keeper_control.hpp"
#include "agent/leader.hpp"
#include "agent/messages.hpp"
#include "agent/readiness.hpp"
#include "agent/subtree.hpp"

#include <array>
#include <list>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

namespace sandbox::agent {

// Returns the worker's exit status: 0 when nothing that it started is left. `control` speaks ControlWords.
int run_keeper(WorkerConnection& connection, int control, const ExecContext& context);

// Split by topic: keeper.cpp the loop and the streams, keeper_tree.cpp the process's life, keeper_serve.cpp clients and PID 1.
class Keeper {
  public:
    // `id`: as PID 1 gave it. The connection of whoever asked for the process is answered, and then given back.
    Keeper(Fd starter, int control, const ExecContext& context, const ManagedStart& request, LeaderSpec spec, ManagedInfo info);
    // Until PID 1 lets it go, or the process could not be started.
    void run();

  private:
    enum class Goal { run, restart, stop };
    struct Output {
        Fd fd;
        LogStream stream;
    };

    // keeper.cpp
    void poll_once();
    int poll_timeout() const;
    std::int64_t next_event() const;
    void pump(Output& output);
    void drain();
    void check_times();

    // keeper_tree.cpp
    void start();
    void start_failed(const StartFailure& failure);
    void look_at_start();
    void reap();
    void note_leader_end(int wait_status);
    void note_tree_end();
    void note_left();
    bool wants_restart() const;
    void begin_restart();
    void stop(std::int64_t grace_ms);
    void end_tree();
    void kill_tree();
    bool is_over() const { return m_has_ended && m_is_tree_gone; }
    bool is_log_complete() const { return is_over() && !m_outputs[0].fd && !m_outputs[1].fd; }

    // keeper_serve.cpp
    void hear_control();
    void take_client(ControlMessage message);
    void tell();
    void announce();
    void check_readiness();
    void answer_starter(ReadyOutcome outcome);
    void answer_all();
    void serve_clients();
    void finish(const KeeperClient& client);
    KeeperClient* starter();

    int m_control;
    const ExecContext& m_context;
    std::int64_t m_grace_ms;
    LeaderSpec m_spec;
    ManagedInfo m_info;
    Subtree m_tree;
    Leader m_leader;
    std::array<Output, 2> m_outputs{Output{Fd(), LogStream::out}, Output{Fd(), LogStream::err}};
    ProcessLog m_log;
    std::list<KeeperClient> m_clients;
    std::optional<Readiness> m_readiness; // while its starter waits for it
    std::vector<char> m_buffer;

    Goal m_goal = Goal::run;
    bool m_leader_runs = false;
    bool m_is_start_known = false; // this leader's execve(2) has succeeded, or it has ended
    bool m_is_announced = false;   // the first one's has, and its starter was told
    bool m_has_ended = false;      // its leader, for good
    bool m_is_tree_gone = true;    // no descendant is left
    bool m_is_stuck = false;       // killed, and some of it can't be
    bool m_is_failed = false;      // it could not be started: nothing of it stays
    bool m_is_let_go = false;
    bool m_is_expiring = false;    // the session ends
    bool m_is_farewell_said = false;
    std::uint64_t m_oom_before = 0;
    std::int64_t m_kill_at = 0;    // boot time, as the others; 0: none
    std::int64_t m_restart_at = 0;
    std::int64_t m_ready_until = 0;
    std::int64_t m_look_at_port_at = 0;
};

} // namespace sandbox::agent
