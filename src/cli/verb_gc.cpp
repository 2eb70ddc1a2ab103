// SPDX-License-Identifier: Apache-2.0
#include "app/gc.hpp"
#include "cli/documents.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"
#include "util/text.hpp"

namespace sandbox::cli {
namespace {

std::vector<Option> options() {
    return {{"dry-run", 0, "", "print the plan, and change nothing"},
            {"grace", 0, "DURATION", "how old an object without a row must be to count as leaked [10m]"},
            {"workspaces", 0, "", "retained persistent workspaces too; needs --older-than"},
            {"older-than", 0, "DURATION", "with --workspaces: not used for this long"},
            label_option()};
}

domain::GcPolicy policy_from(Invocation& call) {
    domain::GcPolicy policy;
    if (const auto text = call.value("grace")) policy.orphan_grace_ms = domain::parse_duration(*text).count();
    if (call.has("workspaces") != call.has("older-than")) {
        throw Error(ErrorCode::usage, "--workspaces and --older-than go together")
            .hint("sandbox gc --workspaces --older-than 30d");
    }
    if (const auto text = call.value("older-than")) {
        policy.workspaces_older_than_ms = domain::parse_duration(*text).count();
    }
    policy.workspace_labels = call.labels();
    if (!policy.workspace_labels.empty() && !call.has("workspaces")) {
        throw Error(ErrorCode::usage, "-l narrows --workspaces only").hint("sandbox destroy -l KEY=VALUE ends sessions");
    }
    // gc is the administrator's verb: without --owner it takes the whole instance.
    policy.owner = call.value("owner");
    return policy;
}

// One line, whatever the names and labels of an engine's objects hold.
std::string line_for(const app::GcOutcome& outcome) {
    std::string text = std::string(domain::gc_action_name(outcome.item.action)) + " " + outcome.item.id + " (" +
                       std::string(domain::gc_why_name(outcome.item.why));
    if (!outcome.item.owner.empty()) text += ", owner " + outcome.item.owner;
    return printable(text + ")");
}

int run(Invocation& call) {
    const auto dry_run = call.has("dry-run") ? app::DryRun::yes : app::DryRun::no;
    const auto report = app::collect_garbage(call.context(), policy_from(call), dry_run);
    if (call.json()) print_out(gc_document(report, dry_run));
    if (report.another_at_work && call.has("verbose")) say("another gc is at work");
    std::string text;
    int status = 0;
    for (const auto& outcome : report.outcomes) {
        if (outcome.error) {
            Error error = *outcome.error;
            print_error(error.context(line_for(outcome)));
            status = error_exit_status(ErrorCode::cleanup_failed);
        } else if (outcome.done || dry_run == app::DryRun::yes) {
            text += (dry_run == app::DryRun::yes ? "would " : "") + line_for(outcome) + "\n";
        }
    }
    if (!call.json() && !call.quiet()) print_out(text);
    for (const auto& warning : report.warnings) say("warning: " + warning);
    if (status == 0 && report.engine_missing) status = error_exit_status(ErrorCode::engine_unreachable);
    return status;
}

} // namespace

const Command k_gc{
    .name = "gc",
    .alias = "",
    .group = "administration",
    .summary = "finish what expired, leaked or was left half done",
    .usage = "[OPTIONS]",
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox gc", "sandbox gc --dry-run",
                                             "sandbox gc --workspaces --older-than 30d -l team=ci"};
    },
    .details = "Takes the whole instance (this state directory); --owner narrows it. Silent when there is nothing to do,\n"
               "and 0 when another gc is at work: it can be a cron line. What is in use, younger than the grace, or of\n"
               "unknown age is left alone.",
    .run = run};

} // namespace sandbox::cli
