// SPDX-License-Identifier: Apache-2.0
#include "agent/files.hpp"
#include "agent/forward_worker.hpp"
#include "agent/hold_worker.hpp"
#include "agent/init.hpp"
#include "agent/ports_worker.hpp"
#include "agent/keeper.hpp"
#include "agent/process_list.hpp"
#include "util/error.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

std::string failure(std::string_view code, std::string_view text) {
    return encode(FailureMessage{std::string(code), std::string(text)});
}

// Closes all but the standard descriptors and these: a worker holds nothing of PID 1's.
void close_all_but(std::vector<int> kept) {
    std::sort(kept.begin(), kept.end());
    unsigned first = 3;
    for (const int fd : kept) {
        if (fd < 3) continue;
        if (static_cast<unsigned>(fd) > first) ::syscall(SYS_close_range, first, static_cast<unsigned>(fd) - 1, 0U);
        first = static_cast<unsigned>(fd) + 1;
    }
    ::syscall(SYS_close_range, first, ~0U, 0U);
}

// An exec that could not even get its worker fails the way it would have failed one step later.
std::string cannot_fork(Operation operation, int error) {
    if (operation != Operation::exec && operation != Operation::start_process) return failure("no_capacity", "no more processes can be started in the session");
    ResultMessage result;
    result.outcome = ExecOutcome::start_failed;
    result.start_errno = static_cast<std::uint32_t>(error);
    result.step = "fork";
    return encode(result);
}

} // namespace

bool Init::serve(Pending& pending) {
    if (!pending.fill()) return false;
    try {
        while (const auto frame = pending.decoder.next_view()) {
            if (!take_frame(pending, *frame)) return false;
        }
        return true;
    } catch (const WireError& error) {
        pending.send(failure("protocol_error", error.what()));
        return false;
    }
}

bool Init::take_frame(Pending& pending, const FrameView& frame) {
    if (pending.setup) return take_setup_item(pending, frame);
    if (pending.awaits_deadline && frame.type == FrameType::deadline) return take_deadline(pending, decode_deadline(frame.payload));
    if (pending.managed) return take_managed_request(pending, frame);
    if (frame.type == FrameType::setup) return take_setup(pending, frame);
    if (frame.type != FrameType::open || pending.awaits_deadline) throw WireError("unexpected frame");
    return take_open(pending, decode_open(frame.payload));
}

bool Init::is_proven(const Pending& pending, std::string_view proof, const Sha256Digest& expected) const {
    if (pending.origin == Origin::outside) return true;
    return m_secret.is_set() && equal_in_constant_time(proof, as_view(expected));
}

bool Init::take_open(Pending& pending, const OpenMessage& message) {
    if (message.version < k_oldest_protocol_version || message.version > k_protocol_version) {
        pending.send(failure("protocol_error", "the agent does not speak this version of the protocol"));
        return false;
    }
    if (!m_is_set_up || !is_proven(pending, message.proof, open_proof(m_secret.view(), pending.nonce, message.operation))) {
        pending.send(failure("denied", "the agent does not know this client"));
        return false;
    }
    hear_workers();
    switch (message.operation) {
    case Operation::status: pending.send(encode(status())); return false;
    case Operation::set_deadline: pending.awaits_deadline = true; return true;
    case Operation::read_log:
    case Operation::follow_log:
    case Operation::stop_process:
    case Operation::wait_process: pending.managed = message.operation; return true;
    default: start_worker(pending, message); return false;
    }
}

bool Init::take_deadline(Pending& pending, const DeadlineMessage& message) {
    if (!is_proven(pending, message.proof, deadline_proof(m_secret.view(), pending.nonce, message))) {
        pending.send(failure("denied", "the agent does not know this client"));
        return false;
    }
    // One in the past is due now, and not since then: that would look like a deadline missed in a frozen container.
    const std::int64_t now = boot_now_ms();
    if (message.ttl_boot_ms >= 0) m_deadlines.set_ttl(message.ttl_boot_ms == 0 ? 0 : std::max(message.ttl_boot_ms, now));
    if (message.idle_timeout_ms >= 0) m_deadlines.set_idle_timeout(message.idle_timeout_ms);
    m_deadlines.touch(now);
    m_was_thawed = false;
    m_thaw_until = 0;
    pending.send(Writer(FrameType::done).finish());
    return false;
}

StatusMessage Init::status() const {
    const std::int64_t now = boot_now_ms();
    StatusMessage message;
    message.boot_now_ms = now;
    message.ttl_boot_ms = m_deadlines.ttl();
    message.idle_timeout_ms = m_deadlines.idle_timeout();
    message.idle_left_ms = m_deadlines.idle_left(now);
    message.operations = m_deadlines.operations();
    message.processes = static_cast<std::uint32_t>(outsiders().size());
    message.workspace_writable = ::access(m_context.session.workdir.c_str(), W_OK | X_OK) == 0;
    message.uid = m_context.session.uid;
    message.gid = m_context.session.gid;
    return message;
}

void Init::start_worker(Pending& pending, const OpenMessage& open) {
    const Operation operation = open.operation;
    int ends[2];
    const int kind = operation == Operation::start_process ? SOCK_SEQPACKET : SOCK_STREAM;
    if (::socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, ends) != 0) {
        pending.send(cannot_fork(operation, errno));
        return;
    }
    Fd mine(ends[0]);
    Fd its(ends[1]);
    const pid_t pid = ::fork();
    if (pid == 0) run_worker(pending, open, std::move(its));
    if (pid < 0) {
        pending.send(cannot_fork(operation, errno));
        return;
    }
    Worker& worker = m_workers.emplace_back();
    worker.pid = pid;
    worker.operation = operation;
    worker.control = std::move(mine);
    worker.connection = std::move(pending.socket);
    worker.bridge = pending.peer;
    if (is_activity(operation)) m_deadlines.begin_operation();
}

void Init::run_worker(Pending& pending, const OpenMessage& open, Fd control) {
    int status = 1;
    try {
        close_all_but({pending.socket.get(), control.get(), m_oom.fd()});
        WorkerConnection connection(std::make_unique<SocketStream>(std::move(pending.socket)), pending.decoder.waiting());
        switch (open.operation) {
        case Operation::exec: status = run_exec_worker(connection, control.get(), m_context); break;
        case Operation::start_process: status = run_keeper(connection, control.get(), m_context); break;
        case Operation::list_processes: status = run_process_list(connection, m_processes); break;
        case Operation::hold: status = run_hold_worker(connection, control.get()); break;
        case Operation::list_ports: status = run_list_ports_worker(connection); break;
        case Operation::wait_port: status = run_wait_port_worker(connection, control.get()); break;
        case Operation::forward: status = run_forward_worker(connection, control.get()); break;
        default: status = run_file_worker(connection, open.operation, open.version, m_context.session);
        }
        [[maybe_unused]] const ssize_t sent = ::write(control.get(), &k_control_done, 1);
    } catch (const std::exception&) {
        // The client learns of it from the end of the stream, once PID 1 has ended what may be left.
    }
    ::_exit(status);
}

} // namespace sandbox::agent
