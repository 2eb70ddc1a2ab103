// SPDX-License-Identifier: Apache-2.0
#include "agent/supervisor.hpp"
#include "util/cpu_time.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

bool is_passed_on(int signal) { return signal == SIGUSR1 || signal == SIGUSR2; }

} // namespace

void Supervisor::reap() {
    m_tree.reap([this](pid_t pid, int status) {
        if (pid != m_leader.pid || m_leader_ended) return;
        m_leader_ended = true;
        m_ended_at = boot_now_ms();
        m_wait_status = status;
        m_start_failure = start_failure(m_leader);
        if (m_reason == Reason::none) m_timeout_at = 0;
    });
    // As a subreaper this process inherits every orphan below it: no child means no descendant.
    if (m_reason != Reason::none && !m_tree.has_children()) m_tree_gone = true;
}

void Supervisor::take_signal(int number) {
    if (is_passed_on(number)) {
        if (!m_leader_ended) ::kill(m_leader.pid, number);
        return;
    }
    if (m_reason != Reason::none || number == SIGKILL) m_kill_at = boot_now_ms();
    begin_end(Reason::client_signal, number);
}

void Supervisor::take_control() {
    char message = 0;
    const ssize_t count = ::read(m_control, &message, 1);
    if (count == 1 && message == k_control_expired) begin_end(Reason::expired, SIGTERM);
    // Without PID 1 the kernel ends every process of the container, this one included.
    if (count == 0) ::_exit(1);
}

void Supervisor::begin_end(Reason reason, int signal) {
    if (m_reason != Reason::none) return;
    m_reason = reason;
    m_timeout_at = 0;
    const std::int64_t grace = reason == Reason::expired ? m_context.grace_ms : m_request.grace_ms;
    if (m_kill_at == 0) m_kill_at = boot_now_ms() + std::max<std::int64_t>(grace, 0);
    m_tree.signal(signal);
    reap();
}

void Supervisor::kill_tree() {
    m_left_running = m_tree.end([this] { reap(); });
    m_tree_gone = true;
    m_kill_at = 0;
    if (m_ended_at == 0) m_ended_at = boot_now_ms();
}

void Supervisor::check_deadlines() {
    const std::int64_t now = boot_now_ms();
    if (now >= m_resume_at) m_resume_at = 0;
    if (m_timeout_at != 0 && now >= m_timeout_at) begin_end(Reason::timed_out, SIGTERM);
    if (m_reason == Reason::none || m_kill_at == 0) return;
    if (m_tree_gone) m_kill_at = 0;
    else if (now >= m_kill_at) kill_tree();
}

ResultMessage Supervisor::result() const {
    ResultMessage message;
    rusage usage{};
    // The leader, and every descendant that was waited for.
    ::getrusage(RUSAGE_CHILDREN, &usage);
    message.wall_ms = (m_ended_at == 0 ? boot_now_ms() : m_ended_at) - m_started_at;
    message.user_cpu_us = microseconds(usage.ru_utime);
    message.system_cpu_us = microseconds(usage.ru_stime);
    message.peak_rss_kib = usage.ru_maxrss;
    message.stdout_bytes = m_outputs[0].bytes;
    message.stderr_bytes = m_outputs[1].bytes;
    message.left_running = static_cast<std::uint32_t>(m_left_running);
    describe_end(message);
    return message;
}

// A kill for want of memory is told from any other SIGKILL by the cgroup's counter alone, and only blamed on a command that
// failed: a child that was killed and replaced by a command that then succeeded is no failure. Two commands that fail while
// one of them runs the session out of memory are both called oom; the counter does not say whose it was.
void Supervisor::describe_end(ResultMessage& message) const {
    if (m_start_failure) {
        message.outcome = ExecOutcome::start_failed;
        message.start_errno = static_cast<std::uint32_t>(m_start_failure->error);
        message.step = m_start_failure->step;
        return;
    }
    if (m_is_detached && !m_leader_ended) {
        message.outcome = ExecOutcome::detached;
        return;
    }
    const bool has_status = m_leader_ended && WIFEXITED(m_wait_status);
    if (has_status) message.exit_status = WEXITSTATUS(m_wait_status);
    else if (m_leader_ended) message.signal = static_cast<std::uint32_t>(WTERMSIG(m_wait_status));
    const bool was_oom = m_context.oom != nullptr && m_context.oom->read() > m_oom_before;
    message.oom = was_oom;
    if (m_reason == Reason::timed_out) message.outcome = ExecOutcome::timed_out;
    else if (m_reason == Reason::expired) message.outcome = ExecOutcome::expired;
    else if (was_oom && message.exit_status != 0) message.outcome = ExecOutcome::oom;
    else if (has_status) message.outcome = ExecOutcome::exited;
    else message.outcome = ExecOutcome::signaled;
    // A leader that could not be ended has no status of its own.
    if (message.outcome == ExecOutcome::signaled && message.signal == 0) message.signal = SIGKILL;
}

} // namespace sandbox::agent
