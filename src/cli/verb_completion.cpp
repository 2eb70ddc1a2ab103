// SPDX-License-Identifier: Apache-2.0
#include "cli/complete.hpp"
#include "cli/completion_scripts.hpp"
#include "cli/dump.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "util/text.hpp"

#include <csignal>
#include <cstdint>
#include <unistd.h>

namespace sandbox::cli {
namespace {

constexpr unsigned k_patience_s = 2;

int run_completion(Invocation& call) {
    const std::string& shell = call.arguments().front();
    if (shell == "bash") print_out(k_bash_completion);
    else if (shell == "zsh") print_out(k_zsh_completion);
    else if (shell == "fish") print_out(k_fish_completion);
    else throw Error(ErrorCode::usage, "no completion for " + quoted(shell)).hint("sandbox completion bash, zsh or fish");
    return 0;
}

int run_complete(Invocation& call) {
    // Whatever hangs, an engine behind a bridge or a dead file system, the shell has its prompt back.
    ::signal(SIGALRM, [](int) { ::_exit(0); });
    ::alarm(k_patience_s);
    print_out(completion_text(complete(call.arguments())));
    return 0;
}

int run_dump(Invocation&) {
    print_out(dump_document());
    return 0;
}

} // namespace

const Command k_completion{
    .name = "completion",
    .alias = "",
    .group = "administration",
    .summary = "print the completion script of a shell",
    .usage = "bash|zsh|fish",
    .min_arguments = 1,
    .max_arguments = 1,
    .positionals = {{"bash|zsh|fish"}},
    .options = no_options,
    .examples = [] {
        return std::vector<std::string_view>{"source <(sandbox completion bash)",
                                             "sandbox completion zsh >~/.zfunc/_sandbox",
                                             "sandbox completion fish >~/.config/fish/completions/sandbox.fish"};
    },
    .details = "The script asks the binary at each press of the key, so it knows sessions, workspaces and files in sessions.\n"
               "An installed sandbox has brought the scripts already.",
    .run = run_completion};

const Command k_complete{
    .name = "__complete",
    .alias = "",
    .group = "administration",
    .summary = "what may stand at the end of a line, for completion scripts",
    .usage = "-- WORD...",
    .max_arguments = SIZE_MAX,
    .positionals = {{"WORD", Completer::nothing, true}},
    .options = no_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox __complete -- exec we"}; },
    .details = "",
    .run = run_complete,
    .hidden = true};

const Command k_dump_cli{
    .name = "__dump-cli",
    .alias = "",
    .group = "administration",
    .summary = "all that the command line offers, as JSON",
    .usage = "",
    .options = no_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox __dump-cli"}; },
    .details = "",
    .run = run_dump,
    .hidden = true};

} // namespace sandbox::cli
