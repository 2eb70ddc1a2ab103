// SPDX-License-Identifier: Apache-2.0
#include "channel/exec_life.hpp"
#include "cli/attached_exec.hpp"
#include "cli/job.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cstdint>

namespace sandbox::cli {
namespace {

constexpr Milliseconds k_export_time{30'000}; // what is kept of a long life for bringing out the exports
constexpr int k_share = 4;                    // and of a short one, at most a quarter

std::vector<Option> options() {
    std::vector<Option> all = job_options();
    for (auto& option : attach_options()) {
        // Left to itself, the command would end with the session at once.
        if (option.name != "detach-keys") all.push_back(std::move(option));
    }
    return all;
}

// How long the command may run, so that its exports are out before the session's end.
Milliseconds time_for(const app::DisposableSession& session, Milliseconds grace) {
    const Milliseconds ttl = session.manifest().lifecycle.ttl;
    const Milliseconds kept = std::min(k_export_time + grace, ttl / k_share);
    return std::max(Milliseconds(session.made().row.expires_boot_ms - boot_now_ms()) - kept, Milliseconds(1));
}

channel::ExecRequest request_from(const Invocation& call, const app::DisposableSession& session) {
    channel::ExecRequest request;
    request.argv = call.arguments();
    request.timeout = session.manifest().limits.timeout;
    apply_attach_options(call, request);
    return request;
}

// The session's life was too short for the command.
Error too_late(const domain::Manifest& manifest) {
    return Error(ErrorCode::timed_out, "the session's life of " + domain::format_duration_exact(manifest.lifecycle.ttl) +
                                           " was nearly over: the command was ended so that its exports come out")
        .hint("a longer lifecycle.ttl (--ttl) gives it more time");
}

// The session is not going to be resumed.
Error frozen(const Error& error) { return {error.code(), error.message()}; }

void work(Invocation& call, Job& job, app::DisposableSession& session, JobDocument& outcome) {
    const domain::Manifest& manifest = session.manifest();
    job.streams().emplace(!call.json(), job.captures() ? std::optional(manifest.limits.max_output) : std::nullopt);
    channel::ExecRequest request = request_from(call, session);
    const Milliseconds left = time_for(session, request.grace);
    const bool is_bounded_by_life = job.has_exports() && (request.timeout.count() == 0 || left < request.timeout);
    if (is_bounded_by_life) request.timeout = left;
    outcome.ended = exec_attached(call.context(), {session.made().row, manifest}, request, *job.streams());
    outcome.result = &*outcome.ended;
    outcome.exit_code = app::exec_exit_status(*outcome.ended);
    outcome.error = app::exec_error(*outcome.ended, request);
    if (outcome.ended->message == channel::k_frozen) outcome.error = frozen(*outcome.error);
    else if (is_bounded_by_life && outcome.ended->outcome == channel::Outcome::timed_out) outcome.error = too_late(manifest);
}

int run(Invocation& call) {
    Job job(call, Job::FirstWord::perhaps_image);
    return job.run([&](app::DisposableSession& session, JobDocument& outcome) { work(call, job, session, outcome); });
}

} // namespace

const Command k_run{
    .name = "run",
    .alias = "",
    .group = "sessions",
    .summary = "make a session, run a command in it, copy results out, and destroy it",
    .usage = "[-f MANIFEST]... [OPTIONS] [--] COMMAND [ARG...]",
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
    .positionals = {{"COMMAND", Completer::nothing}, {"ARG", Completer::nothing, true}},
    .stops_at_first_argument = true,
    .own_arguments = 0,
    .status = StatusRule::passed_through,
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox run --image sandbox/base -- uname -a",
                                             "sandbox run -f ci.yaml --export build/test-results=./junit -- gradle test",
                                             "sandbox run --image sandbox/base -it sh"};
    },
    .details = "The session is gone after success, failure, a time-out, a signal, and a kill -9 of sandbox itself (when it is resumed, if it\n"
               "was paused). Exports are\n"
               "copied out in each case but the last, within 5 s after INT, TERM or HUP; a second signal ends them. The status\n"
               "is the command's own as for exec; 125 when the command succeeded and an export or the clean-up failed.",
    .run = run};

} // namespace sandbox::cli
