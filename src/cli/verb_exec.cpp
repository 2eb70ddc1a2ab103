// SPDX-License-Identifier: Apache-2.0
#include "app/capture.hpp"
#include "app/exec.hpp"
#include "cli/documents.hpp"
#include "cli/manifest_options.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/result_file.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"
#include "util/environment.hpp"
#include "util/stream_writer.hpp"
#include "util/terminal.hpp"
#include "util/text.hpp"

#include <cstdint>
#include <unistd.h>

namespace sandbox::cli {
namespace {

constexpr int k_own_failure = 125;

std::vector<Option> options() {
    return {{"interactive", 'i', "", "pass standard input on, its end included"},
            {"tty", 't', "", "give the command a terminal"},
            {"env", 'e', "NAME=VALUE", "set a variable; NAME alone takes it from here", true, false, Completer::variable},
            {"env-file", 0, "FILE", "variables from a file of NAME=VALUE lines", true},
            {"workdir", 'w', "DIR", "where the command starts, relative to the session's workdir", false, false,
             Completer::nothing},
            {"timeout", 0, "DURATION", "end the command and all it started after this long (status 124)"},
            {"result", 0, "FILE", "write how it ended as JSON to FILE or /dev/fd/N, beside the untouched streams"}};
}

void add_env(channel::Environment& env, const std::string& text) {
    const auto complete = complete_env(text);
    if (!complete) return;
    const auto equals = complete->find('=');
    env.emplace_back(complete->substr(0, equals), complete->substr(equals + 1));
}

channel::WindowSize window_size() {
    const TerminalSize size = terminal_size(is_terminal(STDOUT_FILENO) ? STDOUT_FILENO : STDIN_FILENO);
    return {size.rows, size.columns};
}

void want_tty(const Invocation& call, channel::ExecRequest& request) {
    if (!call.has("tty")) return;
    if (call.json()) throw Error(ErrorCode::usage, "-t and --json do not go together");
    if (request.stdin_open && !is_terminal(STDIN_FILENO)) {
        throw Error(ErrorCode::usage, "-t with -i needs a terminal on standard input").hint("leave -t out in scripts and CI");
    }
    request.tty = window_size();
    const std::string term = environment("TERM");
    request.term = term.empty() ? "xterm" : term;
}

channel::ExecRequest request_from(const Invocation& call, const domain::Manifest& manifest) {
    channel::ExecRequest request;
    request.argv.assign(call.arguments().begin() + 1, call.arguments().end());
    request.stdin_open = call.has("interactive");
    for (const auto& file : call.values("env-file")) {
        for (const auto& text : read_env_file(file)) add_env(request.env, text);
    }
    for (const auto& text : call.values("env")) add_env(request.env, text);
    request.cwd = call.value("workdir").value_or("");
    request.timeout = manifest.limits.timeout;
    if (const auto text = call.value("timeout")) {
        request.timeout = domain::parse_duration(*text);
        check_ceilings(call, "limits.timeout", *text, "--timeout");
    }
    if (request.timeout > manifest.lifecycle.ttl) {
        throw Error(ErrorCode::usage, "--timeout " + domain::format_duration_exact(request.timeout) +
                                          " is longer than the session lives (" +
                                          domain::format_duration_exact(manifest.lifecycle.ttl) + ")");
    }
    want_tty(call, request);
    return request;
}

// The streams of one exec: passed on as they come, or kept within the session's maxOutput, or both.
class Streams {
  public:
    Streams(bool passes, std::optional<std::uint64_t> limit) {
        if (passes) {
            m_stdout.emplace(STDOUT_FILENO);
            m_stderr.emplace(STDERR_FILENO);
        }
        if (limit) {
            m_out.emplace(*limit);
            m_err.emplace(*limit);
        }
    }

    void take(channel::OutputStream stream, std::string_view bytes, const channel::ExecIo& io) {
        const bool is_out = stream == channel::OutputStream::out;
        if (auto& kept = is_out ? m_out : m_err) kept->add(bytes);
        if (auto& writer = is_out ? m_stdout : m_stderr) writer->write(bytes, io.wait_writable);
    }

    void fill(ExecDocument& document) const {
        if (m_out) document.out = m_out->text();
        if (m_err) document.err = m_err->text();
    }

  private:
    std::optional<StreamWriter> m_stdout;
    std::optional<StreamWriter> m_stderr;
    std::optional<app::Capture> m_out;
    std::optional<app::Capture> m_err;
};

// One exec from the words to the exit status; what it learns on the way is what --json and --result tell.
class ExecRun {
  public:
    explicit ExecRun(Invocation& call) : m_call(call) {}

    int run() {
        try {
            // Opened before the command runs: what it did must not be lost because its result has nowhere to go.
            if (const auto path = m_call.value("result")) m_result_file.emplace(*path);
            attempt();
        } catch (const Error& error) {
            m_document.error = error;
            m_document.exit_code = error.signal() > 0 ? error.exit_status() : k_own_failure;
        }
        report();
        return m_document.exit_code;
    }

  private:
    void attempt();
    void report();

    Invocation& m_call;
    std::optional<ResultFile> m_result_file;
    std::optional<Streams> m_streams;
    std::optional<channel::ExecResult> m_result;
    ExecDocument m_document;
};

void ExecRun::attempt() {
    const auto target = app::open_for_exec(m_call.context(), m_call.arguments().front());
    const auto request = request_from(m_call, target.manifest);
    const bool captures = m_call.json() || m_result_file;
    m_streams.emplace(!m_call.json(), captures ? std::optional(target.manifest.limits.max_output) : std::nullopt);
    std::optional<RawTty> raw;
    channel::ExecIo io;
    // No sooner: a hook may run before, and a start that hangs has to be left by Ctrl-C.
    io.on_begin = [&] {
        if (request.tty && is_terminal(STDIN_FILENO) && request.stdin_open) raw.emplace(STDIN_FILENO);
    };
    io.stdin_fd = request.stdin_open ? STDIN_FILENO : -1;
    io.on_output = [this, &io](channel::OutputStream stream, std::string_view bytes) {
        m_streams->take(stream, bytes, io);
    };
    io.window_size = window_size;
    m_result = app::exec_in_session(m_call.context(), target, request, io);
    m_document.result = &*m_result;
    m_document.exit_code = app::exec_exit_status(*m_result);
    m_document.error = app::exec_error(*m_result, request);
}

void ExecRun::report() {
    const bool is_quiet_end = m_document.error && m_document.error->signal() > 0;
    if (m_document.error && !is_quiet_end) print_error(*m_document.error);
    if (!m_call.json() && !m_result_file) return;
    if (m_streams) m_streams->fill(m_document);
    const std::string document = exec_document(m_document);
    if (m_result_file) m_result_file->write(document);
    if (m_call.json()) print_out(document);
}

int run(Invocation& call) { return ExecRun(call).run(); }

} // namespace

const Command k_exec{
    .name = "exec",
    .alias = "",
    .group = "sessions",
    .summary = "run a command in a session and end with its status",
    .usage = "[OPTIONS] SESSION [--] COMMAND [ARG...]",
    .min_arguments = 2,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session}, {"COMMAND", Completer::nothing}, {"ARG", Completer::nothing, true}},
    .stops_at_first_argument = true,
    .status = StatusRule::passed_through,
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox exec $S -- make test", "sandbox exec -it $S sh",
                                             "tar -c src | sandbox exec -i $S -- tar -x",
                                             "sandbox exec --json --timeout 90s $S -- pytest"};
    },
    .details = "The status is the command's own, 128+n when signal n ended it; 124 on a time-out, 125 for sandbox's own\n"
               "failures, 126 when it is not executable, 127 when it is not found. When the call ends by a time-out, a\n"
               "signal or because its caller is gone, nothing that the command started goes on.",
    .run = run};

} // namespace sandbox::cli
