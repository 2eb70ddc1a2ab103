// SPDX-License-Identifier: Apache-2.0
#include "cli/lifecycle_output.hpp"

#include "app/deadlines.hpp"
#include "cli/output.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace sandbox::cli {
namespace {

using Json = nlohmann::ordered_json;

Json text(std::string_view bytes) { return to_valid_utf8(bytes); }

template <typename T> Json optional_of(const std::optional<T>& value) { return value ? Json(*value) : Json(nullptr); }

Json time_of(std::int64_t wall_ms) { return wall_ms > 0 ? Json(format_rfc3339(wall_ms)) : Json(nullptr); }

Json error_of(const Error& error) {
    return {{"code", error_code_name(error.code())},
            {"message", text(error.message())},
            {"hint", error.hint().empty() ? Json(nullptr) : text(error.hint())},
            {"retryable", error_is_retryable(error.code())}};
}

Json identity_of(const state::SessionRow& row) {
    return {{"id", row.id}, {"name", row.name.empty() ? Json(nullptr) : Json(row.name)}, {"owner", text(row.owner)}};
}

Json left_of(const std::vector<app::SessionFailure>& failures) {
    Json left = Json::array();
    for (const auto& failure : failures) left.push_back({{"session", text(failure.target)}, {"error", error_of(failure.error)}});
    return left;
}

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }
std::string line(const Json& json) { return dumped(json) + "\n"; }

Json usage_of(const app::Usage& usage) {
    Json object = identity_of(usage.row);
    const auto& sample = usage.sample;
    object["state"] = state::state_name(usage.state);
    object["stateKnown"] = !usage.error;
    object["time"] = format_rfc3339_ms(usage.time_ms);
    object["cpuPercent"] = usage.cpu_percent ? Json(std::round(*usage.cpu_percent * 100) / 100) : Json(nullptr);
    object["cpuNs"] = sample ? Json(sample->cpu_ns) : Json(nullptr);
    object["memoryBytes"] = sample ? Json(sample->memory) : Json(nullptr);
    object["memoryLimitBytes"] = sample && sample->memory_limit > 0 ? Json(sample->memory_limit) : Json(nullptr);
    object["pids"] = sample ? Json(sample->pids) : Json(nullptr);
    object["pidsLimit"] = sample ? optional_of(sample->pids_limit) : Json(nullptr);
    object["networkInBytes"] = sample ? optional_of(sample->network_in) : Json(nullptr);
    object["networkOutBytes"] = sample ? optional_of(sample->network_out) : Json(nullptr);
    object["blockReadBytes"] = sample ? optional_of(sample->block_read) : Json(nullptr);
    object["blockWrittenBytes"] = sample ? optional_of(sample->block_written) : Json(nullptr);
    object["diskBytes"] = optional_of(usage.disk);
    return object;
}

} // namespace

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

std::string changes_document(const app::LifecycleReport& report) {
    Json sessions = Json::array();
    for (const auto& session : report.sessions) {
        Json object = identity_of(session.row);
        const auto left = app::time_left_ms(session.row);
        object["state"] = state::state_name(session.state);
        object["changed"] = session.changed;
        object["expiresAt"] = time_of(session.row.expires_ms);
        object["timeLeftMs"] = left ? Json(std::max<std::int64_t>(0, *left)) : Json(nullptr);
        object["note"] = session.note.empty() ? Json(nullptr) : text(session.note);
        sessions.push_back(std::move(object));
    }
    return line({{"sessions", std::move(sessions)}, {"left", left_of(report.failures)}});
}

std::string ended_line(const app::EndedSession& ended) {
    if (ended.error) return not_ended_line(ended.row, *ended.error);
    Json object = identity_of(ended.row);
    object["outcome"] = app::ended_by_name(ended.by);
    object["what"] = text(ended.what);
    object["endedAt"] = time_of(ended.ended_ms);
    object["error"] = nullptr;
    return line(object);
}

std::string not_ended_line(const state::SessionRow& row, const Error& error) {
    Json object = identity_of(row);
    object["outcome"] = nullptr;
    object["what"] = nullptr;
    object["endedAt"] = nullptr;
    object["error"] = error_of(error);
    return line(object);
}

std::string usage_line(const app::Usage& usage) { return line(usage_of(usage)); }

std::string usages_document(const std::vector<app::Usage>& usages, const std::vector<app::SessionFailure>& failures) {
    Json sessions = Json::array();
    for (const auto& usage : usages) sessions.push_back(usage_of(usage));
    return line({{"sessions", std::move(sessions)}, {"left", left_of(failures)}});
}

} // namespace sandbox::cli
