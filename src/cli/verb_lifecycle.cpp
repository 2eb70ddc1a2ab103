// SPDX-License-Identifier: Apache-2.0
#include "app/lifecycle.hpp"
#include "cli/lifecycle_output.hpp"
#include "cli/options.hpp"
#include "cli/verbs.hpp"

#include <cstdint>

namespace sandbox::cli {
namespace {

constexpr const char* k_usage = "[OPTIONS] SESSION... | -l KEY=VALUE";

std::vector<Option> options() { return {label_option(), all_owners_option()}; }

std::vector<Option> start_options() {
    auto all = options();
    all.push_back({"allow-path", 0, "DIR", "let the manifest's fromFile lead below this directory too", true});
    return all;
}

int pause(Invocation& call) { return print_changes(call, app::pause_sessions(call.context(), selection_of(call, call.arguments(), "pause"))); }
int resume(Invocation& call) { return print_changes(call, app::resume_sessions(call.context(), selection_of(call, call.arguments(), "resume"))); }
int stop(Invocation& call) { return print_changes(call, app::stop_sessions(call.context(), selection_of(call, call.arguments(), "stop"))); }
int start(Invocation& call) {
    const auto selection = selection_of(call, call.arguments(), "start");
    return print_changes(call, app::start_sessions(call.context(), selection, call.values("allow-path")));
}

} // namespace

const Command k_pause{
    .name = "pause",
    .alias = "",
    .group = "sessions",
    .summary = "freeze everything in sessions, as they are",
    .usage = k_usage,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session, true}},
    .options = options,
    .examples = [] { return std::vector<std::string_view>{"sandbox pause job-981", "sandbox pause -l app=ci"}; },
    .details = "Memory and processes stay; nothing runs until sandbox resume. The session's end comes no later for it.",
    .run = pause};

const Command k_resume{
    .name = "resume",
    .alias = "unpause",
    .group = "sessions",
    .summary = "let paused sessions run on",
    .usage = k_usage,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session, true}},
    .options = options,
    .examples = [] { return std::vector<std::string_view>{"sandbox resume job-981", "sandbox resume -l app=ci"}; },
    .details = "Its idle time begins anew. One whose end has come meanwhile is expired, and is not resumed.",
    .run = resume};

const Command k_stop{
    .name = "stop",
    .alias = "",
    .group = "sessions",
    .summary = "end everything in sessions that are kept, to be started again",
    .usage = k_usage,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session, true}},
    .options = options,
    .examples = [] { return std::vector<std::string_view>{"sandbox stop job-981", "sandbox stop -l app=ci"}; },
    .details = "Only for sessions made with lifecycle.autoDestroy: false (--auto-destroy=false). Files stay, processes, memory and tmpfs go.",
    .run = stop};

const Command k_start{
    .name = "start",
    .alias = "",
    .group = "sessions",
    .summary = "start sessions that have stopped and are kept",
    .usage = k_usage,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session, true}},
    .options = start_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox start job-981", "sandbox start -l app=ci"}; },
    .details = "With the end that they had: sandbox extend moves it. What the manifest's env refers to is looked up again.",
    .run = start};

} // namespace sandbox::cli
