// SPDX-License-Identifier: Apache-2.0
#include "app/host_work.hpp"
#include "cli/job.hpp"
#include "cli/verbs.hpp"
#include "util/cpu_time.hpp"
#include "util/error.hpp"
#include "util/time.hpp"

#include <cstdint>
#include <filesystem>

namespace sandbox::cli {
namespace {

// What a `sandbox` that the command calls needs to find the session; what came from the environment is there already.
std::vector<std::string> variables(Invocation& call, const app::DisposableSession& session) {
    std::vector<std::string> list{"SANDBOX_SESSION=" + session.made().row.id, "SANDBOX_OWNER=" + call.context().owner(),
                                  "SANDBOX_STATE_DIR=" + call.context().state_directory()};
    if (const auto engine = call.value("engine")) list.push_back("SANDBOX_ENGINE=" + *engine);
    if (const auto config = call.value("config")) list.push_back("SANDBOX_CONFIG=" + std::filesystem::absolute(*config).string());
    return list;
}

void work(Invocation& call, const Fd& caller, app::DisposableSession& session, JobDocument& outcome) {
    const std::int64_t started_ms = boot_now_ms();
    const auto [status, usage] = app::run_host_command({call.arguments(), variables(call, session), session.ended_fd(), &caller});
    channel::ExecResult& ended = outcome.ended.emplace();
    ended.outcome = status.signal > 0 ? channel::Outcome::signaled : channel::Outcome::exited;
    ended.exit_status = status.code;
    ended.signal = status.signal;
    ended.wall_ms = boot_now_ms() - started_ms;
    ended.user_cpu_us = microseconds(usage.ru_utime);
    ended.system_cpu_us = microseconds(usage.ru_stime);
    ended.peak_rss_kib = usage.ru_maxrss;
    outcome.result = &ended;
    outcome.exit_code = status.shell_status();
}

int run(Invocation& call) {
    const Fd caller = app::watch_caller();
    if (call.json()) {
        throw Error(ErrorCode::usage, "the command has standard output to itself, so there is no room for --json").hint("--result FILE writes the document");
    }
    return Job(call, Job::FirstWord::command).run([&](app::DisposableSession& session, JobDocument& outcome) { work(call, caller, session, outcome); });
}

} // namespace

const Command k_with{
    .name = "with",
    .alias = "",
    .group = "sessions",
    .summary = "make a session for a command of this host, and destroy it when that ends",
    .usage = "[-f MANIFEST]... [OPTIONS] [--] COMMAND [ARG...]",
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
    .positionals = {{"COMMAND", Completer::command}, {"ARG", Completer::nothing, true}},
    .stops_at_first_argument = true,
    .own_arguments = 0,
    .status = StatusRule::passed_through,
    .options = job_options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox with -f ci.yaml -- ./steps.sh",
                                             "sandbox with --image sandbox/base -- sh -c 'sandbox exec $SANDBOX_SESSION uname'"};
    },
    .details = "The command runs here, not in the session, with SANDBOX_SESSION set to the session's id. The session is gone when\n"
               "the command has ended, when sandbox was killed, and when its caller is gone: a `finally` for scripts of many steps.",
    .run = run};

} // namespace sandbox::cli
