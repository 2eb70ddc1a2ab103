// SPDX-License-Identifier: Apache-2.0
#include "app/exec.hpp"

#include "app/agent_volume.hpp"
#include "app/deadlines.hpp"
#include "app/events.hpp"
#include "app/sessions.hpp"
#include "channel/exec_over.hpp"
#include "channel/hold.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <poll.h>

namespace sandbox::app {
namespace {

using channel::ExecRequest;
using channel::ExecResult;
using channel::Outcome;

constexpr int k_own_failure = 125;
constexpr int k_not_executable = 126;
constexpr int k_not_found = 127;
constexpr int k_timed_out = 124;
constexpr int k_signal_base = 128;

bool is_shell_word(const std::string& word) {
    constexpr std::array words{"cd",    "export", "source", ".",     "alias", "set",  "unset", "ulimit", "umask",
                               "eval",  "if",     "for",    "while", "case",  "trap", "wait",  "exit",   "read",
                               "shift", "type",   "jobs",   "fg",    "bg",    "local"};
    for (const char* candidate : words) {
        if (word == candidate) return true;
    }
    return word.find_first_of(" |&;<>$") != std::string::npos;
}

Error not_started(const ExecResult& result, const ExecRequest& request) {
    const std::string& name = request.argv.front();
    const std::string command = name.empty() ? "\"\"" : printable(name);
    const std::string why = std::strerror(result.start_errno);
    if (result.message == "chdir") {
        return Error(ErrorCode::not_found, "cannot enter " + printable(request.cwd) + ": " + why)
            .hint("-w names a directory inside the session");
    }
    switch (result.start_errno) {
    case ENOENT:
    case ENOTDIR: {
        Error error(ErrorCode::command_not_found, command + ": command not found in the session");
        if (is_shell_word(request.argv.front())) error.hint("it is for a shell: sh -c '" + command + " ...'");
        return error;
    }
    case E2BIG:
        return Error(ErrorCode::limit_exceeded, command + ": arguments and environment are too long for the kernel")
            .hint("send large content through standard input (-i) or sandbox cp");
    case EAGAIN:
        return Error(ErrorCode::limit_exceeded, "cannot start " + command + ": the session's process table is full")
            .hint("limits.pids bounds it; sandbox destroy needs no process in the session");
    case ENOEXEC:
        return Error(ErrorCode::not_executable, command + ": not a program (no #! line, or for another architecture)")
            .hint("a script without a #! line: sh " + command);
    case EACCES:
    case EPERM:
    case EISDIR: return Error(ErrorCode::not_executable, command + ": " + why);
    default: return Error(ErrorCode::failed, "cannot start " + command + ": " + why);
    }
}

channel::Environment literal_environment(const domain::Manifest& manifest) {
    channel::Environment environment;
    for (const auto& [name, value] : manifest.env) {
        if (value.kind == domain::EnvValue::Kind::literal) environment.emplace_back(name, value.value);
    }
    return environment;
}

ExecRequest as_other_user(const ExecTarget& target, const ExecRequest& wanted) {
    ExecRequest request = wanted;
    if (!request.cwd.starts_with('/')) request.cwd = target.manifest.workdir + "/" + request.cwd;
    request.env = literal_environment(target.manifest);
    request.env.insert(request.env.end(), wanted.env.begin(), wanted.env.end());
    return request;
}

// PID 1 ends what its own user runs, so that one needs no engine.
bool is_own_user(Context& context, const ExecTarget& target) {
    const channel::Status status = channel::status(link_to(context, target.row));
    const std::string uid = std::to_string(status.uid);
    return target.user == uid || target.user == uid + ":" + std::to_string(status.gid) || (target.user == "root" && status.uid == 0);
}

// A command that has killed or stopped its supervisor shall not get away with it (law 7): nobody but its own user may signal it.
void end_processes_of(engine::Client& engine, const ExecTarget& target) {
    try {
        const auto sweep = engine.exec(target.row.container_id, {.argv = {k_agent_path, "sweep"}, .user = target.user, .workdir = "/", .env = {}});
        if (engine.exec_exit_code(sweep.id) == 0) return;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::engine_unreachable || error.signal() != 0) throw;
        const auto container = engine.inspect_container(target.row.container_id);
        if (container && container->running && !container->paused) throw;
        throw Error(ErrorCode::session_unreachable, error.message()); // explain_unreachable() says why
    }
    throw Error(ErrorCode::cleanup_failed, "processes of user " + quoted(target.user) + " could not be ended").hint("sandbox destroy ends them with the session");
}

ExecResult without_result(const ExecRequest& request, std::int64_t started_ms) {
    ExecResult result;
    const std::int64_t passed = boot_now_ms() - started_ms;
    result.outcome = request.timeout.count() > 0 && passed >= request.timeout.count() ? Outcome::timed_out : Outcome::aborted;
    result.wall_ms = passed;
    return result;
}

// When the agent takes the command.
std::shared_ptr<std::optional<std::int64_t>> note_begin(channel::ExecIo& io) {
    auto began_ms = std::make_shared<std::optional<std::int64_t>>();
    io.on_begin = [began_ms, on_begin = std::move(io.on_begin)] {
        *began_ms = boot_now_ms();
        if (on_begin) on_begin();
    };
    return began_ms;
}

// In a paused session nothing can end the command; its supervisor does when it is resumed. The caller's time is over all the same. Absent
// where that is not how it is.
std::optional<ExecResult> frozen_over_time(Context& context, const ExecTarget& target, const ExecRequest& request, std::optional<std::int64_t> began_ms) {
    const std::int64_t passed = began_ms ? boot_now_ms() - *began_ms : 0;
    if (request.timeout.count() == 0 || passed < request.timeout.count()) return std::nullopt;
    try {
        const auto container = context.engine_of(target.row.endpoint, target.row.engine_id).inspect_container(target.row.container_id);
        if (!container || !container->paused) return std::nullopt;
    } catch (const Error&) {
        return std::nullopt; // then it is not known, and what went wrong before is the error
    }
    ExecResult result;
    result.outcome = Outcome::timed_out;
    result.message = channel::k_frozen;
    result.wall_ms = passed;
    return result;
}

// Read anew at its end, which an extend may have moved.
channel::Life life_of(Context& context, const state::SessionRow& row) {
    return {end_on_boot_clock(row), [&context, id = row.id] {
                const auto now = context.lookup().find(id);
                return now ? end_on_boot_clock(*now) : boot_now_ms();
            }};
}

// The agent has no privilege to become another user, so the engine starts a supervisor for this one command.
ExecResult exec_as_user(Context& context, const ExecTarget& target, const ExecRequest& wanted, channel::ExecIo& io) {
    const ExecRequest request = as_other_user(target, wanted);
    // The session's agent does not see this command: without this the session could idle under it.
    channel::Hold hold(link_to(context, target.row));
    const auto has_ended = [&hold] {
        pollfd ended{hold.fd(), POLLIN, 0};
        return ::poll(&ended, 1, 0) > 0;
    };
    engine::Client& engine = context.engine_of(target.row.endpoint, target.row.engine_id);
    const std::int64_t started_ms = boot_now_ms();
    auto started = engine.exec(target.row.container_id, {.argv = {k_agent_path, "exec"}, .user = target.user, .workdir = "/", .env = {}, .attach_stdin = true});
    try {
        const auto on_silence = link_to(context, target.row).on_silence;
        const auto result = channel::exec_over(std::move(started.stream), request, io, on_silence, life_of(context, target.row), [&] {
            if (!has_ended()) end_processes_of(engine, target);
        });
        if (result) return *result;
    } catch (const Error& error) {
        // Where it cannot start the supervisor, the engine says so in the stream, which then has no frames.
        if (error.code() != ErrorCode::protocol_error) throw;
        throw Error(ErrorCode::failed, "the engine could not run a command as user " + quoted(target.user))
            .hint("a user is a name in the image's /etc/passwd, or UID[:GID]");
    }
    ExecResult result = without_result(request, started_ms);
    if (!has_ended()) return result;
    if (hold.ends() != channel::HoldEnd::expired) throw Error(ErrorCode::session_unreachable, "the session ended while the command ran");
    result.outcome = Outcome::expired;
    return result;
}

} // namespace

ExecTarget open_for_exec(Context& context, std::string_view id_or_name) {
    auto row = find_open_session(context.lookup(), context.owner(), id_or_name);
    auto manifest = domain::from_canonical_json(row.manifest_json);
    return {std::move(row), std::move(manifest)};
}

ExecResult exec_in_session(Context& context, const ExecTarget& target, const ExecRequest& request,
                           channel::ExecIo& io) {
    ExecRecord record(context, target.row, request);
    const auto began_ms = note_begin(io);
    try {
        const ExecResult result = target.user.empty() || is_own_user(context, target) ? channel::exec(link_to(context, target.row), request, io, life_of(context, target.row))
                                                                                          : exec_as_user(context, target, request, io);
        record.ended(result);
        return result;
    } catch (const Error& error) {
        const auto frozen = error.signal() == 0 ? frozen_over_time(context, target, request, *began_ms) : std::nullopt;
        if (frozen) {
            record.ended(*frozen);
            return *frozen;
        }
        record.failed(error);
        if (error.code() != ErrorCode::session_unreachable) throw;
        explain_unreachable(context, target.row, error);
    }
}

int exec_exit_status(const ExecResult& result) {
    switch (result.outcome) {
    case Outcome::exited: return result.exit_status;
    case Outcome::signaled: return k_signal_base + result.signal;
    case Outcome::oom: return result.signal > 0 ? k_signal_base + result.signal : result.exit_status;
    case Outcome::timed_out:
    case Outcome::expired: return k_timed_out;
    case Outcome::detached: return 0;
    case Outcome::aborted: return k_own_failure;
    case Outcome::start_failed: break;
    }
    if (result.message == "chdir") return k_own_failure;
    switch (result.start_errno) {
    case ENOENT:
    case ENOTDIR: return k_not_found;
    case ENOEXEC:
    case EACCES:
    case EPERM:
    case EISDIR: return k_not_executable;
    default: return k_own_failure;
    }
}

std::optional<Error> exec_error(const ExecResult& result, const ExecRequest& request) {
    switch (result.outcome) {
    case Outcome::exited:
    case Outcome::detached:
    case Outcome::signaled: return std::nullopt;
    case Outcome::timed_out:
        if (result.message == channel::k_frozen) {
            return Error(ErrorCode::timed_out, "the command ran over its time-out of " + format_duration(request.timeout) +
                                                   " in a session that is paused, where nothing ends")
                .hint("sandbox resume ends its processes, sandbox destroy the whole session");
        }
        if (result.message == channel::k_unread) {
            return Error(ErrorCode::timed_out, "the command ran over its time-out of " + format_duration(request.timeout) +
                                                   ", and nobody read its output in that time: the rest of it is lost");
        }
        return Error(ErrorCode::timed_out, "the command ran over its time-out of " + format_duration(request.timeout) + "; " +
                                               (result.left_running == 0 ? std::string("its processes were ended")
                                                                         : std::to_string(result.left_running) + " of its processes could not be ended"));
    case Outcome::expired:
        return Error(ErrorCode::timed_out, "the session expired while the command ran")
            .hint("a longer lifecycle.ttl, or sandbox extend in time, lets it live on");
    case Outcome::oom:
        return Error(ErrorCode::limit_exceeded, "the session ran out of memory and the kernel killed the command")
            .hint("limits.memory bounds it");
    case Outcome::aborted:
        return Error(ErrorCode::aborted, "the command was aborted: its supervisor in the session was killed");
    case Outcome::start_failed: return not_started(result, request);
    }
    return std::nullopt;
}

} // namespace sandbox::app
