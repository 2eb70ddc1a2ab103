// SPDX-License-Identifier: Apache-2.0
#include "agent/init.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

// A worker that somebody keeps stopping is lost; its client must not wait for ever.
constexpr int k_max_stops = 100;
constexpr std::int64_t k_farewell_ms = 2000;
constexpr int k_step_ms = 10;

} // namespace

void Init::reap() {
    for (;;) {
        int status = 0;
        const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
        if (pid < 0 && errno == EINTR) continue;
        if (pid <= 0) break;
        const auto worker = std::find_if(m_workers.begin(), m_workers.end(), [pid](const Worker& one) { return one.pid == pid; });
        if (worker == m_workers.end()) {
            // Only workers are children of PID 1. Any other lost its supervisor, and there may be more of them.
            if (!WIFSTOPPED(status)) m_has_orphans = true;
        } else if (WIFSTOPPED(status)) {
            resume_worker(*worker);
        } else {
            note_worker_end(*worker, status);
        }
    }
    m_workers.remove_if([](const Worker& worker) { return worker.is_dead; });
}

void Init::note_worker_end(Worker& worker, int wait_status) {
    read_control(worker);
    const bool is_orderly = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 && worker.is_done;
    if (is_orderly) {
        finish_operation(worker);
        finish_clients(worker);
        m_processes.remove(worker.pid);
        worker.is_dead = true;
        return;
    }
    lose_keeper(worker);
    // Its pid may be given to another process from now on. The entry stays until its orphans are gone: see purge_orphans().
    worker.pid = -1;
    m_has_orphans = true;
}

void Init::resume_worker(Worker& worker) { ::kill(worker.pid, ++worker.stops > k_max_stops ? SIGKILL : SIGCONT); }

void Init::read_control(Worker& worker) {
    if (worker.operation == Operation::start_process) return read_keeper(worker);
    char message = 0;
    const ssize_t count = ::recv(worker.control.get(), &message, 1, MSG_DONTWAIT);
    if (count == 1 && message == k_control_done) {
        worker.is_done = true;
        finish_operation(worker);
    } else if (count == 0) {
        // It died, or is about to; waitpid(2) says how.
        worker.control.reset();
    }
}

// Whoever was answered by a worker asks next what PID 1 knows: the worker has told that before, and it may lie here unread.
void Init::hear_workers() {
    for (Worker& worker : m_workers) {
        if (worker.control) read_control(worker);
    }
}

// Once for each worker: when its client is served, or it has failed.
void Init::finish_operation(Worker& worker) {
    if (!worker.connection) return;
    worker.connection.reset();
    if (is_activity(worker.operation)) m_deadlines.end_operation(boot_now_ms());
}

void Init::purge_orphans() {
    for (Worker& worker : m_workers) worker.is_purged = worker.pid < 0;
    end_all(m_children, [this] { return agent_pids(); }, [this] { reap(); });
    for (Worker& worker : m_workers) {
        if (!worker.is_purged) continue;
        finish_operation(worker);
        finish_clients(worker);
        worker.is_dead = true;
    }
    m_workers.remove_if([](const Worker& worker) { return worker.is_dead; });
    // A worker that died during the last pass has orphans that no pass has seen.
    m_has_orphans = std::any_of(m_workers.begin(), m_workers.end(), [](const Worker& worker) { return worker.pid < 0; });
}

std::vector<pid_t> Init::agent_pids() const {
    std::vector<pid_t> pids;
    for (const Worker& worker : m_workers) {
        if (worker.pid >= 0) pids.push_back(worker.pid);
        // Once it has ended, its pid may be anybody's: an orphan's, say.
        if (worker.bridge.pid > 0 && is_there(worker.bridge)) pids.push_back(worker.bridge.pid);
        for (const Client& client : worker.clients) {
            if (client.bridge.pid > 0 && is_there(client.bridge)) pids.push_back(client.bridge.pid);
        }
    }
    if (m_creator_bridge.pid > 0 && is_there(m_creator_bridge)) pids.push_back(m_creator_bridge.pid);
    return pids;
}

// Everything in the container but the agent's own processes, whoever started it.
std::vector<Process> Init::outsiders() const {
    std::vector<pid_t> own = agent_pids();
    own.push_back(::getpid());
    for (const Pending& pending : m_pending) {
        if (pending.peer.pid > 0 && is_there(pending.peer)) own.push_back(pending.peer.pid);
    }
    std::vector<Process> all = list_processes();
    std::erase_if(all, [&own](const Process& process) {
        return !process.looks_alive() || std::find(own.begin(), own.end(), process.pid) != own.end();
    });
    return all;
}

bool Init::has_no_outsiders() { return outsiders().empty(); }

bool Init::has_no_workers() {
    return std::all_of(m_workers.begin(), m_workers.end(), [](const Worker& worker) { return worker.is_done || worker.pid < 0; });
}

// Reaps and listens to the workers until the condition holds or the time is up.
void Init::wait_for(std::int64_t until, bool (Init::*is_over)()) {
    while (!(this->*is_over)() && boot_now_ms() < until) {
        pollfd signals{m_signals.get(), POLLIN, 0};
        ::poll(&signals, 1, k_step_ms);
        handle_signals();
        hear_workers();
    }
}

void Init::end_session() {
    m_listener.reset();
    m_bridge.reset();
    m_pending.clear();
    for (Worker& worker : m_workers) {
        // A keeper's starter has been served; it has its process to end all the same, and not to start it again.
        if (worker.operation == Operation::start_process && worker.control) worker.is_done = false;
        if (worker.is_done) continue;
        // The worker ends its own tree and tells its client why. When the engine ends the session there is no result to
        // tell: a client whose stream is cut does not take it for the command's own end.
        if (m_has_expired) ::send(worker.control.get(), &k_control_expired, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        else if (worker.pid >= 0) ::kill(worker.pid, SIGKILL);
    }
    std::vector<pid_t> busy;
    for (const Worker& worker : m_workers) {
        if (m_has_expired && !worker.is_done && worker.pid >= 0) busy.push_back(worker.pid);
    }
    const std::vector<Process> all = list_processes();
    std::vector<pid_t> told;
    for (const pid_t pid : busy) {
        for (const Process& process : descendants_of(pid, all)) told.push_back(process.pid);
    }
    for (const Process& process : outsiders()) {
        if (std::find(told.begin(), told.end(), process.pid) == told.end()) send_signal(process, SIGTERM);
    }
    wait_for(boot_now_ms() + m_context.grace_ms, &Init::has_no_outsiders);
    end_strangers([this] { return outsiders(); }, [this] { reap(); });
    wait_for(boot_now_ms() + k_farewell_ms, &Init::has_no_workers);
}

} // namespace sandbox::agent
