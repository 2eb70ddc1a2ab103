// SPDX-License-Identifier: Apache-2.0
#include "app/events.hpp"
#include "app/observe.hpp"
#include "app/sessions.hpp"
#include "app/wall_end.hpp"
#include "cli/doctor_text.hpp"
#include "cli/documents.hpp"
#include "cli/event_text.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <cstdint>

namespace sandbox::cli {
namespace {

using app::SessionView;

constexpr std::size_t k_execs_shown = 10;

std::vector<Option> ps_options() {
    return {label_option(),
            all_owners_option(),
            {"all", 'a', "", "those destroyed or expired within the last 7 days too"},
            {"ids", 'q', "", "only the ids, one a line"}};
}

std::string duration_cell(const std::optional<std::int64_t>& milliseconds) {
    return milliseconds ? format_duration(Milliseconds(*milliseconds)) : "";
}

// Columns as data: what `ps` shows of a session; the owner is the last.
struct Column {
    const char* header;
    std::string (*cell)(const SessionView&);
};

const std::vector<Column>& columns() {
    static const std::vector<Column> all{
        {"ID", [](const SessionView& view) { return view.row.id; }},
        {"NAME", [](const SessionView& view) { return view.row.name; }},
        {"STATE", [](const SessionView& view) {
             return std::string(state::state_name(view.state)) + (view.engine_answered ? "" : "?");
         }},
        {"AGE", [](const SessionView& view) { return format_duration(Milliseconds(view.age_ms)); }},
        {"LEFT", [](const SessionView& view) { return duration_cell(view.time_left_ms); }},
        {"IDLE LEFT", [](const SessionView& view) {
             return view.agent && view.agent->operations > 0 ? "busy" : duration_cell(view.idle_left_ms);
         }},
        {"IMAGE", [](const SessionView& view) { return view.row.image; }},
        {"WORKSPACE", [](const SessionView& view) {
             return view.row.workspace_id.empty() ? std::string("ephemeral") : view.row.workspace_id;
         }},
        {"OWNER", [](const SessionView& view) { return view.row.owner; }}};
    return all;
}

// The owner is the caller, unless all are shown.
std::string sessions_table(const std::vector<SessionView>& views, bool shows_owner) {
    auto shown = columns();
    if (!shows_owner) shown.pop_back();
    std::vector<std::string> header;
    for (const auto& column : shown) header.emplace_back(column.header);
    std::vector<std::vector<std::string>> rows;
    for (const auto& view : views) {
        auto& row = rows.emplace_back();
        for (const auto& column : shown) row.push_back(column.cell(view));
    }
    return table(header, rows);
}

void say_where_it_looked(Invocation& call) {
    say("no sessions of " + whose(call) + " in " + call.context().lookup().directory());
}

int run_ps(Invocation& call) {
    state::Store::Filter filter;
    if (!call.has("all-owners")) filter.owner = call.context().owner();
    filter.labels = call.labels();
    filter.include_closed = call.has("all");
    const auto rows = call.context().lookup().list(filter);
    if (call.has("ids") && !call.json()) {
        std::string ids;
        for (const auto& row : rows) ids += row.id + "\n";
        print_out(ids);
        return 0;
    }
    std::vector<std::string> warnings;
    const auto views = app::observe(call.context(), rows, warnings);
    for (const auto& warning : warnings) say("warning: " + warning);
    if (call.json()) print_out(sessions_document(views));
    else if (!views.empty()) print_out(sessions_table(views, call.has("all-owners")));
    else if (!call.quiet()) say_where_it_looked(call);
    return 0;
}

std::string inspect_text(const SessionView& view) {
    const auto& row = view.row;
    std::vector<std::vector<std::string>> rows;
    for (const auto& column : columns()) rows.push_back({column.header, column.cell(view)});
    rows.push_back({"CREATED", format_rfc3339(row.created_ms)});
    rows.push_back({"EXPIRES", row.expires_ms > 0 ? format_rfc3339(app::wall_end_ms(row)) : ""});
    if (row.closed_ms > 0) rows.push_back({"CLOSED", format_rfc3339(row.closed_ms)});
    if (!row.reason.empty()) rows.push_back({"REASON", row.reason});
    rows.push_back({"ENGINE", row.endpoint});
    rows.push_back({"CONTAINER", row.container_name});
    rows.push_back({"CHANNEL", row.channel == state::ChannelKind::socket ? "socket" : "bridge"});
    if (view.agent) rows.push_back({"PROCESSES", std::to_string(view.agent->processes)});
    for (const auto& [key, value] : row.labels) rows.push_back({"LABEL " + key, value});
    for (const auto& event : view.last_execs) rows.push_back({"EXEC " + format_rfc3339(event.time_ms), event_text(event)});
    return table({"FIELD", "VALUE"}, rows);
}

std::vector<Option> inspect_options() {
    return {{"effective", 0, "", "the isolation it really has, by engine and kernel, against what was asked for"}};
}

// What cannot be found out of one session keeps nobody from seeing the others.
void look_closer(Invocation& call, SessionView& view) {
    try {
        view.isolation = app::isolation_of(call.context(), view.row, app::Depth::inside);
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        view.isolation = app::Isolation{{}, error.message()};
    }
}

std::string effective_text(const SessionView& view, bool is_one_of_several) {
    std::string text = is_one_of_several ? printable(view.row.name.empty() ? view.row.id : view.row.name) + "\n" : "";
    if (!view.isolation->unknown.empty()) say("nothing is known of the isolation of " + view.row.id + ": " + view.isolation->unknown);
    return text + isolation_text(*view.isolation);
}

int run_inspect(Invocation& call) {
    std::vector<state::SessionRow> rows;
    for (const auto& name : call.arguments()) {
        rows.push_back(app::find_session(call.context().lookup(), call.context().owner(), name));
    }
    std::vector<std::string> warnings;
    auto views = app::observe(call.context(), std::move(rows), warnings);
    for (const auto& warning : warnings) say("warning: " + warning);
    for (auto& view : views) view.last_execs = app::last_execs(call.context().lookup(), view.row.id, k_execs_shown);
    if (call.has("effective")) {
        for (auto& view : views) look_closer(call, view);
    }
    if (call.json()) {
        print_out(inspect_document(views));
        return 0;
    }
    std::string text;
    for (const auto& view : views) text += (text.empty() ? "" : "\n") + (view.isolation ? effective_text(view, views.size() > 1) : inspect_text(view));
    print_out(text);
    return 0;
}

} // namespace

const Command k_ps{
    .name = "ps",
    .alias = "ls",
    .group = "sessions",
    .summary = "list sessions as they really are",
    .usage = "[OPTIONS]",
    .options = ps_options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox ps", "sandbox ps --json -l app=ci", "sandbox ps --all-owners"};
    },
    .details = "Looking never counts as activity. A state with a question mark is the last one known: the engine did not\n"
               "answer. \"lost\" is a container gone before its time; sandbox destroy or gc clears what is left.",
    .run = run_ps};

const Command k_inspect{
    .name = "inspect",
    .alias = "",
    .group = "sessions",
    .summary = "show all that is known of sessions",
    .usage = "[OPTIONS] SESSION...",
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session, true}},
    .options = inspect_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox inspect web", "sandbox inspect --json web", "sandbox inspect --effective web"}; },
    .details = "With --effective, one line for each aspect of its isolation: what the manifest asked for, what the engine says the\n"
               "container has, and what the kernel says inside it. A line that differs begins with \"!\".",
    .run = run_inspect};

} // namespace sandbox::cli
