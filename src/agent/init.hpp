// SPDX-License-Identifier: Apache-2.0
// PID 1 of a session's container: takes the set-up, accepts connections, forks one worker for each operation, keeps the
// deadlines, and reaps. Single-threaded, never blocks on a client. Split by topic:
// init.cpp the loop, init_setup.cpp the hand-shake, init_serve.cpp requests, init_children.cpp workers, orphans and the end,
// init_processes.cpp the managed processes.
//
//   return Init(InitOptions{}).run();
#pragma once

#include "agent/bridge.hpp"
#include "agent/deadlines.hpp"
#include "agent/exec_worker.hpp"
#include "agent/keeper_control.hpp"
#include "agent/oom.hpp"
#include "agent/pending.hpp"
#include "agent/process_table.hpp"
#include "agent/processes.hpp"
#include "agent/secret.hpp"

#include <list>
#include <poll.h>
#include <string>
#include <vector>

namespace sandbox::agent {

struct InitOptions {
    std::string channel = "/.sandbox/channel";
    std::string bridge = std::string(k_bridge_name);
    std::int64_t handshake_ms = 30'000; // without a set-up by then there is no session
    std::int64_t thaw_ms = 10'000;      // what whoever thaws a session has to move its end
};

class Init {
  public:
    explicit Init(InitOptions options);
    // Serves until the session ends; returns the exit status.
    int run();

  private:
    // A connection that a keeper serves, and PID 1's own copy of it: see Worker::connection.
    struct Client {
        std::uint32_t number;
        Fd connection;
        Process bridge;
        bool is_activity;
    };
    struct Worker {
        pid_t pid = -1;
        Operation operation{};
        Fd control;
        // PID 1's own copy of the connection: a killed worker's client hears of the end only once its orphans are gone.
        Fd connection;
        Process bridge; // pid 0: none; a worker may outlive it
        bool is_done = false; // the client has been served
        bool is_purged = false;
        bool is_dead = false;
        std::list<Client> clients; // of a keeper, without the one that started its process
        int stops = 0;
    };

    // init.cpp
    void poll_once();
    void handle_signals();
    void arm_timer(std::int64_t at);
    std::int64_t next_event() const;
    bool has_room(Origin origin) const;
    void accept_all();
    void accept_from(const Fd& listener, Origin origin);
    void drop_overdue(std::int64_t now);
    bool is_time_up();
    bool waits_after_thaw(std::int64_t due, std::int64_t now);

    // init_setup.cpp
    void connect_hello();
    HelloMessage hello(const std::string& nonce) const;
    bool take_setup(Pending& pending, const FrameView& frame);
    bool take_setup_item(Pending& pending, const FrameView& frame);
    bool finish_setup(Pending& pending);
    void read_creator();
    void choose_home(const std::vector<std::string>& session_environment);

    // init_serve.cpp: false ends the connection, or PID 1's part in it.
    bool serve(Pending& pending);
    bool take_frame(Pending& pending, const FrameView& frame);
    bool take_open(Pending& pending, const OpenMessage& message);
    bool take_deadline(Pending& pending, const DeadlineMessage& message);
    bool is_proven(const Pending& pending, std::string_view proof, const Sha256Digest& expected) const;
    StatusMessage status() const;
    void start_worker(Pending& pending, const OpenMessage& open);
    [[noreturn]] void run_worker(Pending& pending, const OpenMessage& open, Fd control);

    // init_processes.cpp
    bool take_managed_request(Pending& pending, const FrameView& frame);
    void pass_on(Pending& pending, const ManagedQuery& query, const ProcessTable::Entry& entry);
    void read_keeper(Worker& worker);
    void take_word(Worker& worker, const ControlMessage& message);
    void answer_claim(Worker& worker, Reader& reader);
    void note_change(ProcessTable::Entry& entry);
    void end_keep_alive(ProcessTable::Entry& entry);
    void let_surplus_go();
    void lose_keeper(Worker& worker);
    void finish_client(Worker& worker, std::uint32_t number);
    void finish_clients(Worker& worker);

    // init_children.cpp
    void reap();
    void note_worker_end(Worker& worker, int wait_status);
    void resume_worker(Worker& worker);
    void read_control(Worker& worker);
    void hear_workers();
    void finish_operation(Worker& worker);
    void purge_orphans();
    std::vector<pid_t> agent_pids() const;
    std::vector<Process> outsiders() const;
    void end_session();
    void wait_for(std::int64_t until, bool (Init::*is_over)());
    bool has_no_outsiders();
    bool has_no_workers();

    InitOptions m_options;
    OwnChildren m_children;
    Fd m_signals;
    Fd m_timer;
    Fd m_bridge;
    Fd m_listener;
    Fd m_creator;            // of a session that ends when this connection does
    Process m_creator_bridge; // the other end of it, where that is inside
    OomCounter m_oom;
    Secret m_secret;
    Deadlines m_deadlines;
    ExecContext m_context;
    bool m_is_set_up = false;
    bool m_is_ending = false;
    bool m_has_expired = false; // by its own deadline; otherwise the engine ends it
    bool m_has_orphans = false;
    bool m_home_writable = false;
    std::string m_home;
    std::int64_t m_handshake_until = 0;
    std::int64_t m_armed = -1;
    std::int64_t m_thaw_until = 0;
    bool m_was_thawed = false; // since the deadlines were last told
    std::list<Pending> m_pending;
    std::list<Worker> m_workers;
    ProcessTable m_processes;
    std::uint32_t m_last_client = 0;
};

} // namespace sandbox::agent
