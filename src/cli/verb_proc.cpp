// SPDX-License-Identifier: Apache-2.0
#include "app/managed.hpp"
#include "app/sessions.hpp"
#include "cli/attached_exec.hpp"
#include "cli/manifest_options.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/process_documents.hpp"
#include "cli/result_file.hpp"
#include "cli/verbs.hpp"
#include "domain/names.hpp"
#include "domain/units.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <charconv>
#include <cstdint>
#include <functional>

namespace sandbox::cli {
namespace {

using channel::ManagedProcess;
using channel::ManagedState;
using Ready = channel::StartedProcess::Ready;

constexpr int k_timed_out = 124;
constexpr std::uint32_t k_most_restarts = 1000;
constexpr Milliseconds k_ready_timeout{60'000};

std::vector<Option> start_options() {
    return {{"name", 0, "NAME", "what the process is called in the session", false, false, Completer::nothing},
            {"env", 'e', "NAME=VALUE", "set a variable; NAME alone takes it from here", true, false, Completer::variable},
            {"env-file", 0, "FILE", "variables from a file of NAME=VALUE lines", true},
            {"workdir", 'w', "DIR", "where the command starts, relative to the session's workdir", false, false, Completer::nothing},
            {"restart", 0, "no|on-failure:N", "start it again when it fails, N times at most"},
            {"ready-port", 0, "PORT", "return once it listens on this TCP port inside", false, false, Completer::nothing},
            {"ready-log", 0, "TEXT", "return once it has printed this", false, false, Completer::nothing},
            {"ready-timeout", 0, "DURATION", "how long to wait for that (60s; status 124)", false, false, Completer::nothing},
            {"keep-alive", 0, "", "the session does not idle while it runs"},
            {"grace", 0, "DURATION", "how long it has to end when it is stopped, before it is killed (2s)", false, false, Completer::nothing}};
}

template <typename Number> Number parse_number(const std::string& option, const std::string& text, Number least, Number most) {
    Number value{};
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) return value;
    throw Error(ErrorCode::usage, "--" + option + " " + quoted(text) + " is no number from " + std::to_string(least) + " to " + std::to_string(most));
}

std::uint32_t parse_restart(const std::string& text) {
    constexpr std::string_view k_on_failure = "on-failure:";
    if (text == "no") return 0;
    if (text.starts_with(k_on_failure)) return parse_number<std::uint32_t>("restart on-failure:N", text.substr(k_on_failure.size()), 1, k_most_restarts);
    throw Error(ErrorCode::usage, "--restart " + quoted(text) + " is neither \"no\" nor \"on-failure:N\"")
        .hint("a process that fails is started again at most N times: --restart on-failure:3");
}

std::string parse_name(const std::string& text) {
    domain::check_name("process name", text);
    if (channel::is_process_name(text)) return text;
    throw Error(ErrorCode::usage, "process name " + quoted(text) + " looks like a process's id");
}

void read_readiness(const Invocation& call, channel::ProcessRequest& request) {
    if (const auto text = call.value("ready-port")) request.ready_port = parse_number<std::uint16_t>("ready-port", *text, 1, 65535);
    request.ready_log = call.value("ready-log").value_or("");
    const bool is_asked = request.ready_port != 0 || !request.ready_log.empty();
    if (call.has("ready-log") && request.ready_log.empty()) throw Error(ErrorCode::usage, "--ready-log is empty");
    if (request.ready_log.size() > channel::k_max_ready_log || request.ready_log.find('\n') != std::string::npos) {
        throw Error(ErrorCode::usage, "--ready-log is a part of a line, of " + std::to_string(channel::k_max_ready_log) + " bytes at most");
    }
    request.ready_timeout = k_ready_timeout;
    if (const auto text = call.value("ready-timeout")) {
        request.ready_timeout = domain::parse_duration(*text);
        if (!is_asked) throw Error(ErrorCode::usage, "--ready-timeout is the time for --ready-port or --ready-log");
    }
}

channel::ProcessRequest request_from(const Invocation& call) {
    channel::ProcessRequest request;
    request.argv.assign(call.arguments().begin() + 1, call.arguments().end());
    request.env = command_environment(call);
    request.cwd = call.value("workdir").value_or("");
    if (const auto name = call.value("name")) request.name = parse_name(*name);
    request.keep_alive = call.has("keep-alive");
    if (const auto text = call.value("grace")) request.grace = domain::parse_duration(*text);
    if (const auto text = call.value("restart")) request.max_restarts = parse_restart(*text);
    read_readiness(call, request);
    return request;
}

int start(Invocation& call, const std::function<void(const ManagedProcess&)>& on_started) {
    const auto request = request_from(call);
    const auto target = app::open_for_exec(call.context(), call.arguments().front());
    const auto started = app::start_process(call.context(), target, request, on_started);
    const auto error = app::start_error(call.context(), target, started, request);
    if (error) print_error(*error);
    if (!call.json()) return app::start_exit_status(started);
    std::optional<bool> ready;
    if (started.ready != Ready::not_asked) ready = started.ready == Ready::ready;
    print_out(started_document({started.process, ready, error}));
    return app::start_exit_status(started);
}

int run_start(Invocation& call) {
    std::optional<ManagedProcess> running;
    // Before it is waited for: whoever is interrupted then knows what to stop.
    const auto on_started = [&](const ManagedProcess& process) {
        running = process;
        if (!call.json()) print_out(process.id + "\n");
    };
    try {
        return start(call, on_started);
    } catch (const Error& error) {
        if (!call.json() || !running) throw;
        print_error(error);
        print_out(started_document({running, false, error}));
        return error.exit_status();
    }
}

std::string status_cell(const ManagedProcess& process) {
    std::string text(channel::state_name(process.state));
    if (process.signal != 0) text += " " + app::signal_name(process.signal);
    else if (process.exit_status >= 0) text += " " + std::to_string(process.exit_status);
    if (process.oom) text += " oom";
    if (process.left_running > 0) text += ", " + std::to_string(process.left_running) + " left";
    return text;
}

std::string command_cell(const ManagedProcess& process) {
    constexpr std::size_t k_most = 60;
    return shortened(join(process.command, " ") + (process.command_cut ? " ..." : ""), k_most);
}

int run_ls(Invocation& call) {
    const auto row = app::find_open_session(call.context().lookup(), call.context().owner(), call.arguments().front());
    const auto processes = app::list_processes(call.context(), row);
    if (call.json()) {
        print_out(processes_document(processes));
        return 0;
    }
    const std::int64_t now = wall_now_ms();
    std::vector<std::vector<std::string>> rows;
    for (const auto& process : processes) {
        const std::int64_t until = process.is_running() || process.ended_ms == 0 ? now : process.ended_ms;
        rows.push_back({process.id, process.name, status_cell(process), process.pid != 0 ? std::to_string(process.pid) : "",
                        format_rfc3339(process.started_ms), format_duration(Milliseconds(std::max<std::int64_t>(until - process.started_ms, 0))),
                        std::to_string(process.restarts), command_cell(process)});
    }
    if (!rows.empty()) print_out(table({"ID", "NAME", "STATUS", "PID", "STARTED", "TIME", "RESTARTS", "COMMAND"}, rows));
    else if (!call.quiet()) say("no managed processes in " + quoted(call.arguments().front()) + ": sandbox proc start makes one");
    return 0;
}

// What there is to say of one that had not to be stopped, or not only: its own status is not what stop has done. Empty: nothing.
std::string stop_note(const app::StoppedProcess& stopped) {
    const auto& [before, process] = stopped;
    const std::string who = app::called(process);
    const bool was_running = before.state == ManagedState::running || before.state == ManagedState::restarting;
    if (was_running && process.state == ManagedState::stopped) return {};
    if (was_running && process.state == ManagedState::aborted) return who + " was aborted: its keeper in the session was killed, and its processes with it";
    if (was_running) return who + " ended by itself meanwhile (" + status_cell(process) + ")";
    if (before.left_running == 0) return who + " had ended already (" + status_cell(process) + ")";
    return who + " had ended already (" + status_cell(process) + "), and " + counted(before.left_running, "process") + " that it had left running " +
           (before.left_running == 1 ? "was" : "were") + " ended";
}

ManagedProcess stop_one(Invocation& call, const state::SessionRow& row, const std::string& name, std::optional<Milliseconds> grace) {
    const auto stopped = app::stop_process(call.context(), row, name, grace);
    const ManagedProcess& process = stopped.process;
    if (process.left_running > 0) {
        throw Error(ErrorCode::cleanup_failed, counted(process.left_running, "process") + " of " + app::called(process) + " could not be ended")
            .hint("sandbox destroy ends everything in the session");
    }
    if (const auto note = stop_note(stopped); !note.empty() && !call.quiet()) say(note);
    return process;
}

int run_stop(Invocation& call) {
    const auto row = app::find_open_session(call.context().lookup(), call.context().owner(), call.arguments().front());
    std::optional<Milliseconds> grace;
    if (const auto text = call.value("grace")) grace = domain::parse_duration(*text);
    std::vector<ManagedProcess> stopped;
    StopFailures failures;
    const std::size_t count = call.arguments().size();
    for (std::size_t i = 1; i < count; ++i) {
        const std::string& name = call.arguments()[i];
        try {
            stopped.push_back(stop_one(call, row, name, grace));
        } catch (const Error& error) {
            if (error.signal() != 0) throw;
            print_error(error);
            // Of a session that is no more there is nothing to be asked.
            const bool is_gone = error.code() == ErrorCode::session_gone;
            for (std::size_t other = i; other < (is_gone ? count : i + 1); ++other) failures.emplace_back(call.arguments()[other], error);
            if (is_gone) break;
        }
    }
    if (call.json()) print_out(stopped_document(stopped, failures));
    return failures.empty() ? 0 : failures.front().second.exit_status();
}

// As proc ls has it; absent where nobody answers.
std::optional<ManagedProcess> known(Invocation& call, const state::SessionRow& row, const std::string& name) {
    try {
        return app::find_process(call.context(), row, name);
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        return std::nullopt;
    }
}

int wait(Invocation& call, std::optional<ResultFile>& result_file) {
    const auto row = app::find_open_session(call.context().lookup(), call.context().owner(), call.arguments().front());
    const std::string& name = call.arguments()[1];
    std::optional<Milliseconds> patience;
    if (const auto text = call.value("timeout")) patience = domain::parse_duration(*text);
    ProcessDocument document;
    document.process = app::wait_process(call.context(), row, name, patience);
    const bool is_late = !document.process;
    const int status = is_late ? k_timed_out : app::process_exit_status(*document.process);
    if (is_late) {
        document.error = Error(ErrorCode::timed_out, quoted(name) + " has not ended within " + format_duration(*patience)).hint("it goes on");
        document.process = known(call, row, name);
    } else {
        document.error = app::process_error(*document.process);
    }
    if (document.error) print_error(*document.error);
    else if (document.process->left_running > 0 && !call.quiet()) {
        say(app::called(*document.process) + " has ended and left " + counted(document.process->left_running, "process") +
            " running; sandbox proc stop ends what is left");
    }
    if (result_file) result_file->write(waited_document(document));
    if (call.json()) print_out(waited_document(document));
    return status;
}

int run_wait(Invocation& call) {
    std::optional<ResultFile> result_file;
    if (const auto path = call.value("result")) result_file.emplace(*path);
    try {
        return wait(call, result_file);
    } catch (const Error& error) {
        const std::string document = waited_document({std::nullopt, std::nullopt, error});
        if (result_file) result_file->write(document);
        if (error.signal() == 0) throw;
        if (call.json()) print_out(document);
        return error.exit_status();
    }
}

} // namespace

const Command k_proc_start{
    .name = "proc start",
    .alias = "",
    .group = "processes",
    .summary = "start a command that outlives this call, with its output kept",
    .usage = "[OPTIONS] SESSION [--] COMMAND [ARG...]",
    .min_arguments = 2,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session}, {"COMMAND", Completer::nothing}, {"ARG", Completer::nothing, true}},
    .stops_at_first_argument = true,
    .options = start_options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox proc start --name web --ready-port 8000 $S -- python3 -m http.server",
                                             "P=$(sandbox proc start $S -- make watch)",
                                             "sandbox proc start --restart on-failure:3 --keep-alive $S -- ./worker"};
    },
    .details = "Prints the process's id, alone, once the command is executed. The session's agent keeps the process, and the last of\n"
               "what it prints, within limits.maxOutput for each stream; at most limits.maxProcesses run at once.",
    .run = run_start};

const Command k_proc_ls{
    .name = "proc ls",
    .alias = "",
    .group = "processes",
    .summary = "list a session's managed processes",
    .usage = "SESSION",
    .min_arguments = 1,
    .max_arguments = 1,
    .positionals = {{"SESSION", Completer::session}},
    .options = no_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox proc ls $S", "sandbox proc ls --json $S"}; },
    .details = "Those that run, and the last sixteen that have ended. Looking never counts as activity.",
    .run = run_ls};

const Command k_proc_stop{
    .name = "proc stop",
    .alias = "",
    .group = "processes",
    .summary = "end managed processes, with all that they started",
    .usage = "[OPTIONS] SESSION PROCESS...",
    .min_arguments = 2,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session}, {"PROCESS", Completer::by_value, true}},
    .options = [] {
        return std::vector<Option>{{"grace", 0, "DURATION", "between TERM and KILL; what it was started with by default", false, false, Completer::nothing}};
    },
    .examples = [] { return std::vector<std::string_view>{"sandbox proc stop $S web", "sandbox proc stop --grace 10s $S web worker"}; },
    .details = "Returns when nothing of them is left. A process is named by its id, or by its exact name; one that has ended\n"
               "is no error.",
    .run = run_stop};

const Command k_proc_wait{
    .name = "proc wait",
    .alias = "",
    .group = "processes",
    .summary = "wait for a managed process and end with its status",
    .usage = "[OPTIONS] SESSION PROCESS",
    .min_arguments = 2,
    .max_arguments = 2,
    .positionals = {{"SESSION", Completer::session}, {"PROCESS"}},
    .status = StatusRule::passed_through,
    .options = [] {
        return std::vector<Option>{{"timeout", 0, "DURATION", "no longer than this (status 124); the process goes on", false, false, Completer::nothing},
                                   {"result", 0, "FILE", "write how it ended as JSON to FILE or /dev/fd/N, beside the status"}};
    },
    .examples = [] { return std::vector<std::string_view>{"sandbox proc wait $S build", "sandbox proc wait --timeout 5m $S build"}; },
    .details = "The status is the process's own, 128+n when signal n ended it; 124 on a time-out, 125 for sandbox's own failures.\n"
               "Waiting counts as activity.",
    .run = run_wait};

} // namespace sandbox::cli
