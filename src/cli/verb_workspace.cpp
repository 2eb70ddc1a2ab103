// SPDX-License-Identifier: Apache-2.0
#include "app/workspaces.hpp"
#include "cli/documents.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <cstdint>

namespace sandbox::cli {
namespace {

using app::WorkspaceView;

std::vector<Option> ls_options() { return {label_option(), all_owners_option()}; }

std::string existence(const WorkspaceView& view) {
    if (!view.exists) return "unknown";
    if (!*view.exists) return "missing";
    return view.sessions.empty() ? "free" : "in use";
}

int run_ls(Invocation& call) {
    std::optional<std::string> owner;
    if (!call.has("all-owners")) owner = call.context().owner();
    const auto views = app::list_workspaces(call.context(), owner, call.labels());
    if (call.json()) {
        print_out(workspaces_document(views));
        return 0;
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& view : views) {
        rows.push_back({view.row.id, existence(view), join(view.sessions, ","), format_rfc3339(view.row.created_ms),
                        format_rfc3339(view.row.last_used_ms), view.row.volume, view.row.owner});
    }
    if (!rows.empty()) print_out(table({"ID", "STATE", "SESSIONS", "CREATED", "LAST USED", "VOLUME", "OWNER"}, rows));
    else if (!call.quiet()) say("no workspaces of " + owner.value_or("any owner") + " in " + call.context().lookup().directory());
    return 0;
}

int run_inspect(Invocation& call) {
    const auto view = app::inspect_workspace(call.context(), call.context().owner(), call.arguments().front());
    if (call.json()) {
        print_out(workspace_document(view));
        return 0;
    }
    std::vector<std::vector<std::string>> rows{{"ID", view.row.id},
                                               {"STATE", existence(view)},
                                               {"SESSIONS", join(view.sessions, ",")},
                                               {"OWNER", view.row.owner},
                                               {"VOLUME", view.row.volume},
                                               {"CREATED", format_rfc3339(view.row.created_ms)},
                                               {"LAST USED", format_rfc3339(view.row.last_used_ms)},
                                               {"ENGINE", view.row.endpoint}};
    for (const auto& [key, value] : view.row.labels) rows.push_back({"LABEL " + key, value});
    print_out(table({"FIELD", "VALUE"}, rows));
    return 0;
}

int run_rm(Invocation& call) {
    std::vector<std::string> removed;
    Failures failures;
    int status = 0;
    for (const auto& id : call.arguments()) {
        try {
            app::remove_workspace(call.context(), call.context().owner(), id);
            removed.push_back(id);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::not_found && call.has("ignore-missing")) continue;
            print_error(error);
            failures.emplace_back(id, error);
            status = status == 0 ? error.exit_status() : status;
        }
    }
    if (call.json()) print_out(removed_document(removed, failures));
    return status;
}

} // namespace

const Command k_workspace_ls{
    .name = "workspace ls",
    .alias = "",
    .group = "workspaces",
    .summary = "list persistent workspaces",
    .usage = "[OPTIONS]",
    .options = ls_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox workspace ls"}; },
    .details = "",
    .run = run_ls};

const Command k_workspace_inspect{
    .name = "workspace inspect",
    .alias = "",
    .group = "workspaces",
    .summary = "show one persistent workspace",
    .usage = "WORKSPACE",
    .min_arguments = 1,
    .max_arguments = 1,
    .positionals = {{"WORKSPACE", Completer::workspace}},
    .options = no_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox workspace inspect project-42"}; },
    .details = "",
    .run = run_inspect};

const Command k_workspace_rm{
    .name = "workspace rm",
    .alias = "",
    .group = "workspaces",
    .summary = "delete persistent workspaces for good",
    .usage = "[OPTIONS] WORKSPACE...",
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
    .positionals = {{"WORKSPACE", Completer::workspace, true}},
    .options = [] {
        return std::vector<Option>{{"ignore-missing", 0, "", "a workspace never known is no error"}};
    },
    .examples = [] { return std::vector<std::string_view>{"sandbox workspace rm project-42"}; },
    .details = "A workspace that a session mounts is not deleted.",
    .run = run_rm};

} // namespace sandbox::cli
