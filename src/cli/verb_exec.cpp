// SPDX-License-Identifier: Apache-2.0
#include "app/deadlines.hpp"
#include "app/exec.hpp"
#include "app/interrupt.hpp"
#include "cli/attached_exec.hpp"
#include "cli/documents.hpp"
#include "cli/manifest_options.hpp"
#include "cli/output.hpp"
#include "cli/result_file.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cstdint>

namespace sandbox::cli {
namespace {

constexpr int k_own_failure = 125;

std::vector<Option> options() {
    std::vector<Option> all = attach_options();
    const std::vector<Option> own{
            {"env", 'e', "NAME=VALUE", "set a variable; NAME alone takes it from here", true, false, Completer::variable},
            {"env-file", 0, "FILE", "variables from a file of NAME=VALUE lines", true},
            {"workdir", 'w', "DIR", "where the command starts, relative to the session's workdir", false, false,
             Completer::nothing},
            {"user", 'u', "USER", "as this user and not the session's: a name of the image, or UID[:GID]; through the engine", false, false, Completer::nothing},
            {"timeout", 0, "DURATION", "end the command and all it started after this long (status 124)"},
            {"result", 0, "FILE", "write how it ended as JSON to FILE or /dev/fd/N, beside the untouched streams"}};
    all.insert(all.end(), own.begin(), own.end());
    return all;
}

// From its creation to its end. An extended session lives longer than its manifest says, and a clock that was set back makes nobody younger than new.
Milliseconds life_of(const app::ExecTarget& target) {
    const std::int64_t age = std::max<std::int64_t>(0, wall_now_ms() - target.row.created_ms);
    return std::max(target.manifest.lifecycle.ttl, Milliseconds(app::time_left_ms(target.row).value_or(0) + age));
}

channel::ExecRequest request_from(const Invocation& call, const app::ExecTarget& target) {
    const domain::Manifest& manifest = target.manifest;
    channel::ExecRequest request;
    request.argv.assign(call.arguments().begin() + 1, call.arguments().end());
    request.env = command_environment(call);
    request.cwd = call.value("workdir").value_or("");
    request.timeout = manifest.limits.timeout;
    if (const auto text = call.value("timeout")) {
        request.timeout = domain::parse_duration(*text);
        check_ceilings(call, "limits.timeout", *text, "--timeout");
    }
    const Milliseconds life = life_of(target);
    if (request.timeout > life) {
        throw Error(ErrorCode::usage, "--timeout " + domain::format_duration_exact(request.timeout) + " is longer than the session lives (" +
                                          domain::format_duration_exact(life) + ")")
            .hint("sandbox extend " + target.row.id + " DURATION moves its end");
    }
    apply_attach_options(call, request);
    return request;
}

// What came while a session was waited for that does not answer is why the call ends.
Error signal_or(app::Interrupt& held, const Error& error) {
    try {
        held.check();
    } catch (const Error& signal) {
        return signal;
    }
    return error;
}

// One exec from the words to the exit status; what it learns on the way is what --json and --result tell.
class ExecRun {
  public:
    explicit ExecRun(Invocation& call) : m_call(call) {}

    int run() {
        // The file tells of a signal too, which the command has not yet taken. Without one, a start that hangs is left at once.
        std::optional<app::Interrupt> held;
        if (m_call.has("result")) held.emplace();
        try {
            // Opened before the command runs: what it did must not be lost because its result has nowhere to go.
            if (const auto path = m_call.value("result")) m_result_file.emplace(*path);
            attempt();
        } catch (const Error& error) {
            take(held ? signal_or(*held, error) : error);
        }
        report();
        return m_document.exit_code;
    }

  private:
    void attempt();
    void take(const Error& error);
    void report();

    Invocation& m_call;
    std::optional<ResultFile> m_result_file;
    std::optional<CommandStreams> m_streams;
    std::optional<channel::ExecResult> m_result;
    ExecDocument m_document;
};

void ExecRun::attempt() {
    auto target = app::open_for_exec(m_call.context(), m_call.arguments().front());
    target.user = m_call.value("user").value_or("");
    const auto request = request_from(m_call, target);
    const bool captures = m_call.json() || m_result_file;
    m_streams.emplace(!m_call.json(), captures ? std::optional(target.manifest.limits.max_output) : std::nullopt);
    m_result = exec_attached(m_call.context(), target, request, *m_streams, detach_keys(m_call, request));
    m_document.result = &*m_result;
    m_document.exit_code = app::exec_exit_status(*m_result);
    m_document.error = app::exec_error(*m_result, request);
}

void ExecRun::take(const Error& error) {
    m_document.error = error;
    m_document.exit_code = error.signal() > 0 ? error.exit_status() : k_own_failure;
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
