// SPDX-License-Identifier: Apache-2.0
// The JSON documents of --json: stable camelCase fields, valid UTF-8 whatever came out of a container, one line each.
//
//   print_out(error_document(error));
#pragma once

#include "app/capture.hpp"
#include "app/create.hpp"
#include "app/destroy.hpp"
#include "app/exports.hpp"
#include "app/gc.hpp"
#include "app/observe.hpp"
#include "app/workspaces.hpp"
#include "channel/agent_client.hpp"
#include "domain/changes.hpp"
#include "util/error.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sandbox::cli {

using Fields = std::vector<std::pair<std::string, std::string>>; // an object of strings

std::string error_document(const Error& error);
std::string created_document(const app::CreatedSession& made);
// What `authorize:` is asked about: who wants which workspace.
std::string authorize_document(const state::SessionRow& session);
std::string plan_document(const domain::Manifest& manifest, const std::string& owner);
struct ExecDocument {
    const channel::ExecResult* result = nullptr; // null: it never got as far
    int exit_code = 125;
    app::CapturedText out;
    app::CapturedText err;
    std::optional<Error> error;
};
std::string exec_document(const ExecDocument& document);
// What run and with tell beside that.
struct JobDocument : ExecDocument {
    std::optional<channel::ExecResult> ended; // what `result` points to
    std::string session;                      // empty: none was made
    bool is_kept = false;
    std::vector<app::Exported> exports;
};
std::string job_document(const JobDocument& document);
std::string sessions_document(const std::vector<app::SessionView>& views);
// One object for one session, {"sessions": [...]} for several.
std::string inspect_document(const std::vector<app::SessionView>& views);
std::string destroy_document(const app::DestroyReport& report);
std::string gc_document(const app::GcReport& report, app::DryRun dry_run);
std::string workspaces_document(const std::vector<app::WorkspaceView>& views);
std::string workspace_document(const app::WorkspaceView& view);
std::string copy_document(const channel::TransferStats& stats);
// One of the objects of a list, without a newline; `patch` where one was asked for.
std::string change_object(const domain::Change& change, const std::string* patch);
std::string object_document(const Fields& fields);
using Failures = std::vector<std::pair<std::string, Error>>; // what was named, and why it is left
std::string removed_document(const std::vector<std::string>& removed, const Failures& failures);

} // namespace sandbox::cli
