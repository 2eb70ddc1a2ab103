// SPDX-License-Identifier: Apache-2.0
#include "agent/keeper.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

// Doubled with each restart: a process that fails at once must not take a processor for itself.
constexpr std::int64_t k_first_pause_ms = 100;
constexpr std::int64_t k_longest_pause_ms = 10'000;

constexpr int k_not_started = 126;
constexpr int k_killed = 128 + SIGKILL; // as a shell in between tells it

std::int64_t pause_before(std::uint32_t restart) {
    return std::min(k_longest_pause_ms, k_first_pause_ms << std::min<std::uint32_t>(restart, 10));
}

} // namespace

void Keeper::start() {
    m_restart_at = 0;
    m_goal = Goal::run;
    m_info.state = ManagedState::running;
    m_info.started_ms = wall_now_ms();
    m_info.ended_ms = 0;
    m_oom_before = m_context.oom != nullptr ? m_context.oom->read() : 0;
    try {
        m_leader = start_leader(m_spec);
    } catch (const StartFailure& failure) {
        return start_failed(failure);
    }
    for (std::size_t i = 0; i < m_outputs.size(); ++i) m_outputs[i].fd = std::move(i == 0 ? m_leader.output : m_leader.errors);
    if (m_readiness) m_readiness->start_over();
    m_leader_runs = true;
    m_is_start_known = false;
    m_is_tree_gone = false;
    m_info.pid = static_cast<std::uint32_t>(m_leader.pid);
    m_info.exit_status = -1;
    m_info.signal = 0;
    m_info.oom = false;
    if (m_is_announced) tell();
}

// There is no process. The first time that is the starter's error and nobody else's; later it is one more failure.
void Keeper::start_failed(const StartFailure& failure) {
    if (m_is_announced) return note_leader_end(W_EXITCODE(k_not_started, 0));
    m_is_failed = true;
    m_has_ended = true;
    m_readiness.reset();
    say(m_control, ControlWord::withdrawn);
    ResultMessage result;
    result.outcome = ExecOutcome::start_failed;
    result.start_errno = static_cast<std::uint32_t>(failure.error);
    result.step = failure.step;
    if (KeeperClient* client = starter()) client->answer(encode(result));
}

// The pipe ends with the child's execve(2), or holds why that failed: then the child ends, and is told of with its status.
void Keeper::look_at_start() {
    pollfd status{m_leader.status.get(), POLLIN, 0};
    if (::poll(&status, 1, 0) <= 0) return;
    m_is_start_known = true;
    if ((status.revents & POLLIN) == 0) announce();
}

void Keeper::reap() {
    std::optional<int> ended;
    m_tree.reap([&](pid_t pid, int status) {
        if (m_leader_runs && pid == m_leader.pid) ended = status;
    });
    if (ended) note_leader_end(*ended);
    if (!m_tree.has_children()) note_tree_end();
    else if (m_has_ended) note_left();
}

void Keeper::note_leader_end(int wait_status) {
    m_leader_runs = false;
    m_is_start_known = true;
    const auto failure = m_leader.status ? start_failure(m_leader) : std::nullopt;
    m_leader.status.reset();
    if (failure && !m_is_announced) return start_failed(*failure);
    announce();
    m_info.pid = 0;
    m_info.ended_ms = wall_now_ms();
    m_info.exit_status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    m_info.signal = WIFSIGNALED(wait_status) ? static_cast<std::uint32_t>(WTERMSIG(wait_status)) : 0;
    // One that has run for long has seen others killed for memory: only a kill is blamed on that.
    const bool was_killed = m_info.signal == SIGKILL || m_info.exit_status == k_killed;
    m_info.oom = was_killed && m_context.oom != nullptr && m_context.oom->read() > m_oom_before;
    // The session's end may be known already, and is the reason then.
    hear_control();
    if (m_goal == Goal::stop) return;
    if (wants_restart()) return begin_restart();
    m_has_ended = true;
    m_info.state = ManagedState::exited;
    if (!m_is_tree_gone) return; // reap() goes on with what is left
    tell();
    answer_all();
}

bool Keeper::wants_restart() const { return m_info.exit_status != 0 && m_info.restarts < m_info.max_restarts && !m_is_expiring; }

// What the failed one left running would hold its ports and files.
void Keeper::begin_restart() {
    m_goal = Goal::restart;
    m_info.state = ManagedState::restarting;
    tell();
    if (!m_is_tree_gone && m_tree.has_children()) end_tree();
    if (m_is_tree_gone) m_restart_at = boot_now_ms() + pause_before(m_info.restarts++);
}

void Keeper::note_tree_end() {
    if (m_is_tree_gone) return;
    m_is_tree_gone = true;
    m_kill_at = 0;
    m_info.left_running = 0;
    drain();
    if (m_is_failed) return;
    if (m_goal == Goal::restart) {
        m_restart_at = boot_now_ms() + pause_before(m_info.restarts++);
        return;
    }
    if (m_goal == Goal::stop && !m_has_ended) {
        m_has_ended = true;
        m_info.state = ManagedState::stopped;
    }
    tell();
    answer_all();
}

// Its leader has ended for good, and what it started runs on.
void Keeper::note_left() {
    const std::vector<Process> below = descendants_of(::getpid());
    const auto alive = std::count_if(below.begin(), below.end(), [](const Process& process) { return process.looks_alive(); });
    // One that is on its way out is waited for in a moment; until then it counts, or it would seem that all is over.
    const auto left = static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(alive, 1));
    if (left == m_info.left_running) return;
    m_info.left_running = left;
    tell();
    answer_all();
}

void Keeper::stop(std::int64_t grace_ms) {
    if (is_over()) return answer_all();
    m_restart_at = 0;
    const std::int64_t kill_at = boot_now_ms() + std::max<std::int64_t>(grace_ms, 0);
    const bool is_first = m_goal != Goal::stop;
    m_goal = Goal::stop;
    if (m_is_tree_gone) { // between two attempts
        m_has_ended = true;
        m_info.state = ManagedState::stopped;
        tell();
        return answer_all();
    }
    m_kill_at = m_kill_at == 0 ? kill_at : std::min(m_kill_at, kill_at);
    if (is_first) m_tree.signal(SIGTERM);
}

void Keeper::end_tree() {
    m_tree.signal(SIGTERM);
    m_kill_at = boot_now_ms() + m_grace_ms;
}

void Keeper::kill_tree() {
    m_kill_at = 0;
    const int left = m_tree.end([this] { reap(); });
    if (left == 0 || m_is_tree_gone) return;
    // Another user's processes: nothing ends them but the session's end.
    m_is_stuck = m_has_ended = true;
    m_info.state = ManagedState::stopped;
    m_info.left_running = static_cast<std::uint32_t>(left);
    m_info.ended_ms = wall_now_ms();
    tell();
    answer_all();
}

} // namespace sandbox::agent
