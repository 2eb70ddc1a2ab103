// SPDX-License-Identifier: Apache-2.0
#include "cli/documents.hpp"

#include "app/deadlines.hpp"
#include "app/wall_end.hpp"
#include "cli/lifecycle_documents.hpp"
#include "domain/names.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace sandbox::cli {
namespace {

using Json = nlohmann::ordered_json;

Json text(std::string_view bytes) { return to_valid_utf8(bytes); }

template <typename T> Json optional_of(const std::optional<T>& value) { return value ? Json(*value) : Json(nullptr); }

Json time_of(std::int64_t wall_ms) { return wall_ms > 0 ? Json(format_rfc3339(wall_ms)) : Json(nullptr); }

Json labels_of(const std::map<std::string, std::string>& labels) {
    Json object = Json::object();
    for (const auto& [key, value] : labels) object[to_valid_utf8(key)] = text(value);
    return object;
}

Json error_of(const Error& error) {
    return {{"code", error_code_name(error.code())},
            {"message", text(error.message())},
            {"hint", error.hint().empty() ? Json(nullptr) : text(error.hint())},
            {"retryable", error_is_retryable(error.code())}};
}

Json workspace_of(const state::SessionRow& row) {
    if (row.workspace_id.empty()) return {{"mode", "ephemeral"}, {"id", nullptr}};
    return {{"mode", "persistent"}, {"id", row.workspace_id}};
}

// Values of the environment are shown nowhere, literal ones included: a literal may be a secret all the same.
Json without_env_values(Json manifest) {
    if (!manifest.contains("env")) return manifest;
    for (auto& value : manifest["env"]) {
        if (!value.is_object()) value = {{"literal", true}};
    }
    return manifest;
}

Json manifest_of(const state::SessionRow& row) {
    return without_env_values(Json::parse(row.manifest_json, nullptr, false));
}

Json captured(const app::CapturedText& output) {
    Json object{{"encoding", output.is_base64 ? "base64" : "utf-8"},
                {"bytes", output.bytes},
                {"droppedBytes", output.dropped},
                {"truncated", output.truncated()}};
    object[output.is_base64 ? "base64" : "text"] = output.text;
    return object;
}

Json session_of(const app::SessionView& view) {
    const auto& row = view.row;
    return {{"id", row.id},
            {"name", row.name.empty() ? Json(nullptr) : Json(row.name)},
            {"owner", text(row.owner)},
            {"state", state::state_name(view.state)},
            {"stateKnown", view.engine_answered},
            {"reason", row.reason.empty() ? Json(nullptr) : text(row.reason)},
            {"image", text(row.image)},
            {"createdAt", time_of(row.created_ms)},
            {"expiresAt", time_of(app::wall_end_ms(row))},
            {"closedAt", time_of(row.closed_ms)},
            {"ageMs", view.age_ms},
            {"timeLeftMs", optional_of(view.time_left_ms)},
            {"idleLeftMs", optional_of(view.idle_left_ms)},
            {"workspace", workspace_of(row)},
            {"network", manifest_of(row).value("network", Json(nullptr))},
            {"labels", labels_of(row.labels)},
            {"operations", view.agent ? Json(view.agent->operations) : Json(nullptr)},
            {"processes", view.agent ? Json(view.agent->processes) : Json(nullptr)}};
}

Json isolation_of(const app::Isolation& isolation) {
    Json aspects = Json::array();
    bool differs = false;
    for (const auto& aspect : isolation.aspects) {
        aspects.push_back({{"aspect", aspect.name},
                           {"asked", aspect.asked.empty() ? Json(nullptr) : text(aspect.asked)},
                           {"told", text(aspect.engine)},
                           {"inside", aspect.inside ? text(*aspect.inside) : Json(nullptr)},
                           {"differs", aspect.differs}});
        differs = differs || aspect.differs;
    }
    return {{"differs", differs},
            {"unknown", isolation.unknown.empty() ? Json(nullptr) : text(isolation.unknown)},
            {"aspects", std::move(aspects)}};
}

// Everything a reader of the state may see; secrets are not in the row to begin with, literal env values are left out.
Json inspected(const app::SessionView& view) {
    Json object = session_of(view);
    const auto& row = view.row;
    object["engine"] = {{"endpoint", row.endpoint}, {"id", row.engine_id}};
    object["container"] = {{"id", row.container_id.empty() ? Json(nullptr) : Json(row.container_id)},
                           {"name", row.container_name},
                           {"status", view.container ? Json(view.container->status) : Json(nullptr)}};
    std::string volume = row.volume;
    Json ports = Json::object();
    if (view.container) {
        for (const auto& mount : view.container->mounts) {
            if (volume.empty() && mount.target == manifest_of(row).value("workdir", "")) volume = mount.name;
        }
        for (const auto& [inside, outside] : view.container->ports) ports[std::to_string(inside)] = outside;
    }
    object["volume"] = volume.empty() ? Json(nullptr) : Json(volume);
    object["ports"] = ports;
    object["channel"] = row.channel == state::ChannelKind::socket ? "socket" : "bridge";
    object["user"] = view.agent ? Json{{"uid", view.agent->uid}, {"gid", view.agent->gid}} : Json(nullptr);
    object["manifestDigest"] = row.manifest_digest;
    object["manifest"] = manifest_of(row);
    object["effective"] = view.isolation ? isolation_of(*view.isolation) : Json(nullptr);
    object["lastExecs"] = Json::array();
    for (const auto& event : view.last_execs) object["lastExecs"].push_back(Json::parse(state::event_line(event)));
    return object;
}

Json workspace_json(const app::WorkspaceView& view) {
    return {{"id", view.row.id},
            {"owner", text(view.row.owner)},
            {"volume", view.row.volume},
            {"exists", optional_of(view.exists)},
            {"sessions", view.sessions},
            {"labels", labels_of(view.row.labels)},
            {"createdAt", time_of(view.row.created_ms)},
            {"lastUsedAt", time_of(view.row.last_used_ms)},
            {"engine", {{"endpoint", view.row.endpoint}, {"id", view.row.engine_id}}}};
}

// Bytes that are no UTF-8 are there in base64 as well, so that nothing is lost.
void add_bytes(Json& object, const char* key, const char* base64_key, std::string_view bytes) {
    object[key] = text(bytes);
    if (!is_valid_utf8(bytes)) object[base64_key] = base64_encode(bytes);
}

// What one side of a change says of the entry, each under a name of its own.
struct EntryKeys {
    const char* type;
    const char* mode;
    const char* size;
    const char* target;
    const char* target_base64;
};
constexpr EntryKeys k_now{"type", "mode", "size", "target", "targetBase64"};
constexpr EntryKeys k_then{"oldType", "oldMode", "oldSize", "oldTarget", "oldTargetBase64"};

void add_entry(Json& object, const InventoryEntry& entry, const EntryKeys& keys) {
    char octal[8];
    std::snprintf(octal, sizeof octal, "%04o", entry.mode);
    object[keys.type] = domain::inventory_type_name(entry.type);
    if (entry.type != InventoryType::symlink) object[keys.mode] = octal;
    if (entry.type == InventoryType::file) object[keys.size] = entry.size;
    if (entry.type == InventoryType::symlink) add_bytes(object, keys.target, keys.target_base64, entry.link);
}

Json identity_of(const state::SessionRow& row) {
    return {{"id", row.id}, {"name", row.name.empty() ? Json(nullptr) : Json(row.name)}, {"owner", text(row.owner)}};
}

Json left_of(const std::vector<app::SessionFailure>& failures) {
    Json left = Json::array();
    for (const auto& failure : failures) left.push_back({{"session", text(failure.target)}, {"error", error_of(failure.error)}});
    return left;
}

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

std::string line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json object_of(const Fields& fields) {
    Json object = Json::object();
    for (const auto& [key, value] : fields) object[key] = text(value);
    return object;
}

} // namespace

std::string error_document(const Error& error) { return line({{"error", error_of(error)}}); }

std::string created_document(const app::CreatedSession& made) {
    const auto& row = made.row;
    Json object{{"id", row.id},
                {"name", row.name.empty() ? Json(nullptr) : Json(row.name)},
                {"owner", text(row.owner)},
                {"state", state::state_name(row.state)},
                {"image", text(row.image)},
                {"workspace", workspace_of(row)},
                {"network", manifest_of(row).value("network", Json(nullptr))},
                {"createdAt", time_of(row.created_ms)},
                {"expiresAt", time_of(row.expires_ms)},
                {"manifestDigest", row.manifest_digest},
                {"reused", made.reused}};
    object["notes"] = Json::array();
    for (const auto& note : made.notes) object["notes"].push_back(text(note));
    return line(object);
}

std::string authorize_document(const state::SessionRow& session) {
    return line({{"workspace", session.workspace_id},
                 {"owner", text(session.owner)},
                 {"session", session.id},
                 {"name", session.name.empty() ? Json(nullptr) : Json(session.name)},
                 {"image", text(session.image)},
                 {"labels", labels_of(session.labels)}});
}

std::string plan_document(const domain::Manifest& manifest, const std::string& owner) {
    const Json shown = without_env_values(Json::parse(domain::to_canonical_json(manifest)));
    return line({{"dryRun", true}, {"owner", text(owner)}, {"manifest", shown},
                 {"manifestDigest", domain::manifest_digest(manifest)}});
}

namespace {

Json exec_json(const ExecDocument& document) {
    const channel::ExecResult none;
    const auto& result = document.result != nullptr ? *document.result : none;
    const bool ran = document.result != nullptr;
    const bool has_signal = ran && result.signal > 0;
    Json object{{"outcome", ran ? Json(channel::outcome_name(result.outcome)) : Json(nullptr)},
                {"exitCode", document.exit_code},
                {"signal", has_signal ? Json(result.signal) : Json(nullptr)},
                {"timedOut", ran && result.outcome == channel::Outcome::timed_out},
                {"oom", ran && result.oom},
                {"stdout", captured(document.out)},
                {"stderr", captured(document.err)},
                {"wallMs", result.wall_ms},
                {"userCpuMs", result.user_cpu_us / 1000},
                {"systemCpuMs", result.system_cpu_us / 1000},
                {"peakMemoryBytes", result.peak_rss_kib * 1024},
                {"error", document.error ? error_of(*document.error) : Json(nullptr)}};
    return object;
}

} // namespace

std::string exec_document(const ExecDocument& document) { return line(exec_json(document)); }

std::string job_document(const JobDocument& document) {
    Json object = exec_json(document);
    object["session"] = document.session.empty() ? Json(nullptr) : Json(document.session);
    object["kept"] = document.is_kept;
    object["exports"] = Json::array();
    for (const auto& done : document.exports) {
        object["exports"].push_back({{"path", text(done.item.path)},
                                     {"target", text(done.item.target)},
                                     {"files", done.stats.files},
                                     {"bytes", done.stats.bytes},
                                     {"absent", done.is_absent},
                                     {"error", done.error ? error_of(*done.error) : Json(nullptr)}});
    }
    return line(object);
}

std::string sessions_document(const std::vector<app::SessionView>& views) {
    Json sessions = Json::array();
    for (const auto& view : views) sessions.push_back(session_of(view));
    return line({{"sessions", sessions}});
}

std::string inspect_document(const std::vector<app::SessionView>& views) {
    if (views.size() == 1) return line(inspected(views.front()));
    Json sessions = Json::array();
    for (const auto& view : views) sessions.push_back(inspected(view));
    return line({{"sessions", sessions}});
}

std::string destroy_document(const app::DestroyReport& report) {
    Json object{{"destroyed", Json::array()}, {"alreadyGone", Json::array()}, {"left", Json::array()}};
    for (const auto& session : report.destroyed) {
        object[session.was_gone ? "alreadyGone" : "destroyed"].push_back(session.id);
    }
    for (const auto& failure : report.failures) {
        object["left"].push_back({{"session", text(failure.target)}, {"error", error_of(failure.error)}});
    }
    return line(object);
}

std::string changes_document(const app::LifecycleReport& report) {
    Json sessions = Json::array();
    for (const auto& session : report.sessions) {
        Json object = identity_of(session.row);
        const auto left = app::time_left_ms(session.row);
        object["state"] = state::state_name(session.state);
        object["changed"] = session.changed;
        object["expiresAt"] = time_of(app::wall_end_ms(session.row));
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

namespace {

std::string without_outcome(Json object, const Error& error) {
    object["outcome"] = nullptr;
    object["what"] = nullptr;
    object["endedAt"] = nullptr;
    object["error"] = error_of(error);
    return line(object);
}

} // namespace

std::string not_ended_line(const state::SessionRow& row, const Error& error) { return without_outcome(identity_of(row), error); }

std::string unknown_line(const std::string& target, const Error& error) {
    const bool is_id = domain::is_session_id(target);
    return without_outcome({{"id", is_id ? text(target) : Json(nullptr)}, {"name", is_id ? Json(nullptr) : text(target)}, {"owner", nullptr}}, error);
}

std::string usage_line(const app::Usage& usage) { return line(usage_of(usage)); }

std::string usages_document(const std::vector<app::Usage>& usages, const std::vector<app::SessionFailure>& failures) {
    Json sessions = Json::array();
    for (const auto& usage : usages) sessions.push_back(usage_of(usage));
    return line({{"sessions", std::move(sessions)}, {"left", left_of(failures)}});
}

std::string gc_document(const app::GcReport& report, app::DryRun dry_run) {
    Json object{{"dryRun", dry_run == app::DryRun::yes},
                {"anotherAtWork", report.another_at_work},
                {"items", Json::array()},
                {"warnings", Json::array()}};
    for (const auto& outcome : report.outcomes) {
        object["items"].push_back({{"action", domain::gc_action_name(outcome.item.action)},
                                   {"why", domain::gc_why_name(outcome.item.why)},
                                   {"id", outcome.item.id},
                                   {"owner", text(outcome.item.owner)},
                                   {"done", outcome.done},
                                   {"error", outcome.error ? error_of(*outcome.error) : Json(nullptr)}});
    }
    for (const auto& warning : report.warnings) object["warnings"].push_back(text(warning));
    return line(object);
}

std::string workspaces_document(const std::vector<app::WorkspaceView>& views) {
    Json rows = Json::array();
    for (const auto& view : views) rows.push_back(workspace_json(view));
    return line({{"workspaces", rows}});
}

std::string workspace_document(const app::WorkspaceView& view) { return line(workspace_json(view)); }

std::string copy_document(const channel::TransferStats& stats) {
    return line({{"files", stats.files}, {"bytes", stats.bytes}, {"skipped", stats.skipped}});
}

std::string change_object(const domain::Change& change, const std::string* patch) {
    Json object{{"change", domain::change_name(change.kind)}};
    add_bytes(object, "path", "pathBase64", change.entry().path);
    if (change.kind == domain::Change::Kind::modified) {
        object["what"] = Json::array();
        if (change.type) object["what"].push_back("type");
        if (change.mode) object["what"].push_back("mode");
        if (change.content) object["what"].push_back("content");
    }
    if (change.after != nullptr) add_entry(object, *change.after, k_now);
    if (change.before != nullptr) add_entry(object, *change.before, k_then);
    if (patch != nullptr) add_bytes(object, "patch", "patchBase64", *patch);
    return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string object_document(const Fields& fields) { return line(object_of(fields)); }

std::string removed_document(const std::vector<std::string>& removed, const Failures& failures) {
    Json left = Json::array();
    for (const auto& [id, error] : failures) left.push_back({{"id", text(id)}, {"error", error_of(error)}});
    return line({{"removed", removed}, {"left", left}});
}

} // namespace sandbox::cli
