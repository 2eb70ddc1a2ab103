// SPDX-License-Identifier: Apache-2.0
#include "app/exec.hpp"
#include "cli/attached_exec.hpp"
#include "cli/shell.hpp"
#include "cli/verbs.hpp"
#include "util/error.hpp"
#include "util/terminal.hpp"

#include <unistd.h>

namespace sandbox::cli {
namespace {

int run(Invocation& call) {
    if (!is_terminal(STDIN_FILENO) || !is_terminal(STDOUT_FILENO)) {
        throw Error(ErrorCode::usage, "a shell needs a terminal").hint("for a script: sandbox exec -i SESSION sh");
    }
    if (call.json()) throw Error(ErrorCode::usage, "a shell has no JSON").hint("sandbox exec --json runs a single command");
    auto target = app::open_for_exec(call.context(), call.arguments().front());
    channel::ExecRequest request;
    request.cwd = call.value("workdir").value_or("");
    target.user = call.value("user").value_or("");
    const std::string keys = parse_detach_keys(call.value("detach-keys").value_or("ctrl-p,ctrl-q"));
    return run_shell(call.context(), target, std::move(request), call.value("shell").value_or(""), keys);
}

} // namespace

const Command k_shell{
    .name = "shell",
    .alias = "",
    .group = "sessions",
    .summary = "open a shell in a session, on this terminal",
    .usage = "[OPTIONS] SESSION",
    .min_arguments = 1,
    .max_arguments = 1,
    .positionals = {{"SESSION", Completer::session}},
    .status = StatusRule::passed_through,
    .options = [] {
        // As in docker's `exec -it`, which is what a shell is anyway.
        return std::vector<Option>{{"interactive", 'i', "", "as it is anyway", false, true},
                                   {"tty", 't', "", "as it is anyway", false, true},
                                   {"shell", 0, "COMMAND", "this one, and not the best that the image has", false, false, Completer::nothing},
                                   {"user", 'u', "USER", "as this user and not the session's: a name of the image, or UID[:GID]; through the engine", false, false, Completer::nothing},
                                   {"detach-keys", 0, "KEYS", "typed, they leave the shell to itself; none: no keys [ctrl-p,ctrl-q]"},
                                   {"workdir", 'w', "DIR", "where it starts, relative to the session's workdir", false, false, Completer::nothing}};
    },
    .examples = [] { return std::vector<std::string_view>{"sandbox shell $S", "sandbox shell -w src web"}; },
    .details = "The first of bash, zsh, fish, ksh, ash, dash and sh that the image has. Any number of people may be in one session.",
    .run = run};

} // namespace sandbox::cli
