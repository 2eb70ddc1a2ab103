// SPDX-License-Identifier: Apache-2.0
#include "app/destroy.hpp"
#include "cli/documents.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "util/text.hpp"

#include <cstdint>

namespace sandbox::cli {
namespace {

std::vector<Option> options() {
    return {label_option(),
            {"all", 'a', "", "every session of the owner"},
            all_owners_option(),
            {"ignore-missing", 0, "", "a session never known is no error"},
            {"force", 'f', "", "destroy always ends what runs; accepted for docker's habits"}};
}

app::DestroySelection selection_from(const Invocation& call) {
    app::DestroySelection selection;
    selection.names = call.arguments();
    selection.all = call.has("all");
    selection.labels = call.labels();
    selection.all_owners = call.has("all-owners");
    selection.ignore_missing = call.has("ignore-missing");
    const bool by_scope = selection.all || !selection.labels.empty();
    if (!by_scope && selection.names.empty()) {
        throw Error(ErrorCode::usage, "nothing to destroy was named")
            .hint("name sessions, or select them with -l KEY=VALUE or --all");
    }
    if (by_scope && !selection.names.empty()) {
        throw Error(ErrorCode::usage, "sessions by name and by -l or --all do not go together");
    }
    if (selection.all_owners && !by_scope) {
        throw Error(ErrorCode::usage, "--all-owners needs -l or --all").hint("another owner's session: --owner NAME");
    }
    for (const auto& name : selection.names) {
        // Said before anything is destroyed: who writes rm SESSION:PATH wants to lose a file, and not a session.
        if (name.find_first_of(":/") != std::string::npos) {
            throw Error(ErrorCode::usage, quoted(name) + " is a path, and no session").hint("sandbox fs rm SESSION:PATH removes files");
        }
        if (name.empty()) {
            throw Error(ErrorCode::usage, "a session's name is empty")
                .hint("in a script, the create before may have failed: create --name NAME, and destroy --ignore-missing NAME");
        }
    }
    return selection;
}

int run(Invocation& call) {
    const auto selection = selection_from(call);
    const auto report = app::destroy_sessions(call.context(), selection);
    if (call.json()) {
        print_out(destroy_document(report));
    } else if (!call.quiet() && report.destroyed.empty() && report.failures.empty() && selection.names.empty()) {
        say("nothing matched");
    }
    int status = 0;
    for (const auto& failure : report.failures) {
        Error error = failure.error;
        // What is wrong with one of several must say which.
        if (error.code() != ErrorCode::not_found) error.context(printable(failure.target));
        print_error(error);
        status = status == 0 ? error.exit_status() : status;
    }
    return status;
}

} // namespace

const Command k_destroy{
    .name = "destroy",
    .alias = "rm",
    .group = "sessions",
    .summary = "end sessions and remove everything they had",
    .usage = "[OPTIONS] SESSION... | -l KEY=VALUE | --all",
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session, true}},
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox destroy $S", "sandbox rm -l jobId=981",
                                             "trap 'sandbox destroy --ignore-missing job-981' EXIT"};
    },
    .details = "Returns 0 only when everything is gone, and says what is left otherwise. Destroying again is 0. Persistent\n"
               "workspaces stay unless their manifest says destroyOnSessionDestroy.",
    .run = run};

} // namespace sandbox::cli
