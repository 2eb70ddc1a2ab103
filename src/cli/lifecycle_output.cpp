// SPDX-License-Identifier: Apache-2.0
#include "cli/lifecycle_output.hpp"

#include "cli/lifecycle_documents.hpp"
#include "cli/output.hpp"
#include "util/text.hpp"

#include <algorithm>

namespace sandbox::cli {

app::SessionSelection selection_of(const Invocation& call, std::vector<std::string> names, std::string_view verb) {
    app::SessionSelection selection{std::move(names), call.labels(), call.has("all-owners")};
    if (std::ranges::find(selection.names, "") != selection.names.end()) {
        throw Error(ErrorCode::usage, "a session's name is empty").hint("in a script, the create before may have failed");
    }
    if (selection.labels.empty() && selection.names.empty()) {
        throw Error(ErrorCode::usage, "no session was named").hint("sandbox " + std::string(verb) + " SESSION, or -l KEY=VALUE to select by label");
    }
    if (!selection.labels.empty() && !selection.names.empty()) {
        throw Error(ErrorCode::usage, "sessions by name and by -l do not go together");
    }
    if (selection.all_owners && selection.labels.empty()) {
        throw Error(ErrorCode::usage, "--all-owners needs -l").hint("another owner's session: --owner NAME");
    }
    return selection;
}

int print_failures(const std::vector<app::SessionFailure>& failures) {
    int status = 0;
    for (const auto& failure : failures) {
        Error error = failure.error;
        // What is wrong with one of several must say which; most messages do.
        if (error.message().find(failure.target) == std::string::npos) error.context(printable(failure.target));
        print_error(error);
        status = status == 0 ? error.exit_status() : status;
    }
    return status;
}

int print_changes(Invocation& call, const app::LifecycleReport& report) {
    if (call.json()) print_out(changes_document(report));
    if (!call.quiet()) {
        for (const auto& session : report.sessions) {
            const std::string& who = session.row.name.empty() ? session.row.id : session.row.name;
            if (!session.note.empty()) say("note: " + who + ": " + session.note);
        }
        if (!call.json() && report.sessions.empty() && report.failures.empty()) say("nothing matched");
    }
    return print_failures(report.failures);
}

} // namespace sandbox::cli
