// SPDX-License-Identifier: Apache-2.0
#include "app/managed.hpp"

#include "app/events.hpp"
#include "app/managed_reach.hpp"
#include "app/signal_watch.hpp"
#include "util/poll_time.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <string.h>

namespace sandbox::app {
namespace {

using channel::ManagedProcess;
using channel::ManagedState;
using channel::StartedProcess;
using Ready = channel::StartedProcess::Ready;

constexpr int k_own_failure = 125;
constexpr int k_timed_out = 124;
constexpr int k_signal_base = 128;
constexpr std::uint32_t k_last_lines = 5;
constexpr std::size_t k_last_bytes = 600;

// The end of what it printed, for a message. No log is no reason for another error.
std::string last_lines(Context& context, const state::SessionRow& row, const std::string& id) {
    std::string text;
    bool has_printed = false;
    try {
        read_log(context, row, {.process = id, .tail = k_last_lines}, channel::Follow::no, {[&](const channel::LogPiece& piece) {
            has_printed = true;
            text += piece.bytes;
            if (text.size() > 2 * k_last_bytes) text.erase(0, text.size() - k_last_bytes);
        }});
    } catch (const Error&) {
        return {};
    }
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.size() > k_last_bytes) text.erase(0, text.size() - k_last_bytes);
    std::vector<std::string> lines;
    for (const auto& line : split(text, '\n')) lines.push_back(printable(line));
    if (text.empty()) return has_printed ? "; the last it printed are empty lines" : "; it has printed nothing";
    return "; the last it printed: " + join(lines, " | ");
}

std::string how_it_ended(const ManagedProcess& process) {
    if (process.oom) return "was killed for want of memory";
    if (process.signal != 0) return "was ended by " + signal_name(process.signal);
    return "ended with status " + std::to_string(process.exit_status);
}

EventDetails details_of(const ManagedProcess& process) {
    EventDetails details{{"process", process.id}, {"command", join(process.command, " ")}};
    if (!process.name.empty()) details.emplace_back("processName", process.name);
    return details;
}

// That somebody has started one. What ends by itself is seen by no process of the host.
void record_started(Context& context, const state::SessionRow& row, const ManagedProcess& process) {
    record(context, state::EventKind::process_started, row, details_of(process));
}

// That it was asked for, by somebody who did not wait for the end.
void record_stopping(Context& context, const state::SessionRow& row, const ManagedProcess& process) {
    EventDetails details = details_of(process);
    details.emplace_back("outcome", std::string("stopping"));
    record(context, state::EventKind::process_stopped, row, std::move(details));
}

void record_stopped(Context& context, const state::SessionRow& row, const ManagedProcess& process) {
    EventDetails details = details_of(process);
    details.emplace_back("outcome", std::string(process.left_running > 0 ? "cleanup_failed" : channel::state_name(process.state)));
    if (process.exit_status >= 0) details.emplace_back("exitCode", std::int64_t{process.exit_status});
    if (process.signal != 0) details.emplace_back("signal", std::int64_t{process.signal});
    record(context, state::EventKind::process_stopped, row, std::move(details));
}

// One that is only being started has the name already, and nobody can stop it yet.
bool is_told(const channel::Link& link, const std::string& name) {
    return std::ranges::any_of(channel::list_processes(link), [&](const ManagedProcess& one) { return one.name == name && one.is_running(); });
}

// What to do about a refusal; empty: nothing.
std::string hint_for_start(const channel::Link& link, const Error& error, const state::SessionRow& row, const channel::ProcessRequest& request) {
    const std::string session = row.name.empty() ? row.id : row.name;
    if (error.code() == ErrorCode::exists && !is_told(link, request.name)) return {};
    if (error.code() == ErrorCode::exists) return "sandbox proc stop " + session + " " + request.name + " ends all of it, and the name is free again";
    if (error.code() == ErrorCode::limit_exceeded) return "sandbox proc ls " + session + " lists them; limits.maxProcesses of the manifest is how many may run";
    return {};
}

// Until something can be read, or the time is over, or a signal comes.
void await_readable(int fd, const SignalWatch& signals, std::int64_t until) {
    for (;;) {
        const int left = poll_time_until(until);
        std::array<pollfd, 2> set{pollfd{fd, POLLIN, 0}, pollfd{signals.fd(), POLLIN, 0}};
        if (::poll(set.data(), set.size(), left) < 0 && errno != EINTR) throw errno_error("cannot wait for the process");
        signals.check();
        if (set[0].revents != 0 || left == 0) return;
    }
}

// From the first time that it waits on: whoever is still connecting can be ended as ever.
class SignalledWait {
  public:
    channel::Await await() {
        return [this](int fd, std::int64_t until) {
            if (!m_signals) m_signals.emplace();
            await_readable(fd, *m_signals, until);
        };
    }

  private:
    std::optional<SignalWatch> m_signals;
};

std::string fate_of(const std::string& process) { return "how process " + quoted(process) + " ended is not known any more"; }

std::string still_missing(const StartedProcess& started, const channel::ProcessRequest& request) {
    std::vector<std::string> missing;
    if (!started.port_seen) missing.push_back("it does not listen on port " + std::to_string(request.ready_port));
    if (!started.log_seen) missing.push_back("it has not printed " + quoted(request.ready_log));
    return join(missing, ", and ");
}

} // namespace

StartedProcess start_process(Context& context, const ExecTarget& target, channel::ProcessRequest request,
                             const std::function<void(const ManagedProcess&)>& on_started) {
    request.log_limit = target.manifest.limits.max_output;
    request.max_processes = target.manifest.limits.max_processes;
    std::optional<SignalWatch> signals;
    const auto tell = [&](const ManagedProcess& process) {
        signals.emplace();
        record_started(context, target.row, process);
        on_started(process);
    };
    const auto await = [&](int fd, std::int64_t until) { await_readable(fd, *signals, until); };
    return reach(context, target.row, [&](const channel::Link& link) {
        try {
            return channel::start_process(link, request, tell, await);
        } catch (const Error& error) {
            if (const auto hint = hint_for_start(link, error, target.row, request); !hint.empty()) throw Error(error).hint(hint);
            if (error.code() != ErrorCode::session_unreachable) throw;
            channel::list_processes(link); // throws where it is the agent that is gone
            throw Error(ErrorCode::aborted, "the process was aborted: its keeper in the session was killed, and its processes with it");
        }
    });
}

std::optional<Error> start_error(Context& context, const ExecTarget& target, const StartedProcess& started,
                                 const channel::ProcessRequest& request) {
    if (!started.process) {
        channel::ExecRequest attempt;
        attempt.argv = request.argv;
        attempt.cwd = request.cwd;
        return exec_error(started.failure, attempt);
    }
    const ManagedProcess& process = *started.process;
    if (started.ready == Ready::ended) {
        return Error(ErrorCode::failed, called(process) + " " + how_it_ended(process) + " before it was ready" + last_lines(context, target.row, process.id));
    }
    if (started.ready != Ready::timed_out) return std::nullopt;
    return Error(ErrorCode::timed_out, called(process) + " was not ready within " + format_duration(request.ready_timeout) + ": " +
                                           still_missing(started, request) + last_lines(context, target.row, process.id))
        .hint("it goes on: sandbox proc logs shows what it does, sandbox proc stop ends it");
}

int start_exit_status(const StartedProcess& started) {
    if (!started.process) {
        const int status = exec_exit_status(started.failure);
        return status == k_own_failure ? 1 : status;
    }
    if (started.ready == Ready::timed_out) return k_timed_out;
    return started.ready == Ready::ended ? 1 : 0;
}

std::vector<ManagedProcess> list_processes(Context& context, const state::SessionRow& row) {
    return reach(context, row, [](const channel::Link& link) { return channel::list_processes(link); });
}

ManagedProcess find_process(Context& context, const state::SessionRow& row, const std::string& process) {
    std::optional<ManagedProcess> found;
    for (auto& one : list_processes(context, row)) {
        if (one.id == process) return one;
        // As the agent has it: the one that runs, else the last that had the name.
        if (!one.name.empty() && one.name == process && (!found || !found->is_running())) found = std::move(one);
    }
    if (found) return *found;
    throw Error(ErrorCode::not_found, "no managed process " + quoted(process) + " in the session").hint("sandbox proc ls lists them");
}

StoppedProcess stop_process(Context& context, const state::SessionRow& row, const std::string& process, std::optional<Milliseconds> grace) {
    StoppedProcess stopped{find_process(context, row, process), {}};
    const std::string& id = stopped.before.id;
    SignalledWait wait;
    try {
        stopped.process = reach(context, row, [&](const channel::Link& link) {
            return outliving_keeper(link, id, fate_of(process), [&] { return channel::stop_process(link, id, grace, wait.await()); });
        });
    } catch (const Error& error) {
        // The agent goes on with what it was asked for.
        if (error.signal() != 0 && stopped.before.is_running()) record_stopping(context, row, stopped.before);
        throw;
    }
    if (stopped.before.is_running()) record_stopped(context, row, stopped.process);
    return stopped;
}

std::optional<ManagedProcess> wait_process(Context& context, const state::SessionRow& row, const std::string& process,
                                           std::optional<Milliseconds> patience) {
    SignalledWait wait;
    return reach(context, row, [&](const channel::Link& link) {
        return outliving_keeper(link, process, fate_of(process), [&] { return channel::wait_process(link, process, patience, wait.await()); });
    });
}

std::string called(const ManagedProcess& process) { return process.name.empty() ? process.id : process.name; }

std::string signal_name(std::uint32_t number) {
    const char* name = ::sigabbrev_np(static_cast<int>(number));
    return "SIG" + (name != nullptr ? std::string(name) : std::to_string(number));
}

int process_exit_status(const ManagedProcess& process) {
    if (process.state == ManagedState::aborted) return k_own_failure;
    if (process.expired) return k_timed_out;
    if (process.signal != 0) return k_signal_base + static_cast<int>(process.signal);
    return process.exit_status >= 0 ? process.exit_status : k_own_failure; // it could not be ended, and has no status
}

std::optional<Error> process_error(const ManagedProcess& process) {
    if (process.state == ManagedState::aborted) {
        return Error(ErrorCode::aborted, called(process) + " was aborted: its keeper in the session was killed, and its processes with it");
    }
    if (process.expired) {
        return Error(ErrorCode::timed_out, "the session expired while " + called(process) + " ran").hint("a longer lifecycle.ttl gives it more time");
    }
    if (process.signal == 0 && process.exit_status < 0) {
        return Error(ErrorCode::cleanup_failed, called(process) + " could not be ended: it has changed its user").hint("sandbox destroy ends it with the session");
    }
    if (!process.oom) return std::nullopt;
    return Error(ErrorCode::limit_exceeded, "the session ran out of memory and the kernel killed " + called(process)).hint("limits.memory bounds it");
}

} // namespace sandbox::app
