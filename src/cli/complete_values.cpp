// SPDX-License-Identifier: Apache-2.0
#include "cli/complete_values.hpp"

#include "app/copy.hpp"
#include "app/deadlines.hpp"
#include "app/listing.hpp"
#include "domain/manifest.hpp"
#include "state/events.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <set>
#include <unistd.h>

namespace sandbox::cli {
namespace {

bool is_given(const Place& place, const std::string& value) {
    return std::ranges::find(place.arguments, value) != place.arguments.end();
}

std::vector<Candidate> alternatives(std::string_view choices) {
    std::vector<Candidate> all;
    if (choices.find('|') == std::string_view::npos) return all;
    for (auto& choice : split(choices, '|')) {
        // The number is the typist's.
        if (choice.ends_with(":N")) choice.pop_back();
        all.push_back({std::move(choice), ""});
    }
    return all;
}

std::string time_left(const state::SessionRow& row) {
    const auto left = app::time_left_ms(row);
    return left ? ", " + format_duration(Milliseconds(*left)) + " left" : "";
}

// By name, which is what people type; by id where there is none, or where one is being typed.
std::vector<Candidate> sessions(const Place& place, app::Context& context, const std::string& suffix) {
    std::vector<Candidate> all;
    for (const auto& row : app::live_sessions(context)) {
        if (is_given(place, row.name) || is_given(place, row.id)) continue;
        const std::string description = row.image + time_left(row);
        if (!row.name.empty()) all.push_back({row.name + suffix, description});
        if (row.name.empty() || !place.word.empty()) all.push_back({row.id + suffix, description});
    }
    return all;
}

// What starts with a colon names no session, and is no host path either.
bool is_in_session(const std::string& word) { return !word.starts_with(':') && !app::parse_location(word).session.empty(); }

// A copy has one side in a session: where the other one is, only the host's files are left.
bool may_be_in_session(const Place& place) { return std::ranges::none_of(place.arguments, is_in_session); }

// What is in the directory that `path` has come to, each behind `before`.
std::vector<Candidate> paths_in(app::Context& context, const std::string& session, const std::string& path, const std::string& before) {
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    const std::string prefix = path.substr(directory.size());
    std::vector<Candidate> all;
    for (const auto& entry : app::list_names(context, session, directory, prefix)) {
        if (entry.name.starts_with('.') && !prefix.starts_with('.')) continue;
        all.push_back({before + directory + entry.name + (entry.is_directory ? "/" : ""), ""});
    }
    return all;
}

// For the file tools every word is.
bool must_be_in_session(const Place& place) { return place.value == "SESSION:PATH"; }

std::vector<Candidate> session_paths(const Place& place, app::Context& context) {
    if (!must_be_in_session(place) && !may_be_in_session(place)) return {};
    if (!is_in_session(place.word)) return sessions(place, context, ":");
    const app::Location location = app::parse_location(place.word);
    return paths_in(context, location.session, location.path, location.session + ":");
}

std::vector<Candidate> paths_inside(const Place& place, app::Context& context) {
    if (place.arguments.empty()) return {};
    auto all = paths_in(context, place.arguments.front(), place.word, "");
    std::erase_if(all, [&](const Candidate& candidate) { return is_given(place, candidate.value); });
    return all;
}

std::vector<Candidate> processes(const Place& place, app::Context& context) {
    if (place.arguments.empty()) return {};
    std::vector<Candidate> all;
    for (const auto& process : app::known_processes(context, place.arguments.front())) {
        const std::string description = printable(join(process.command, " "));
        const std::string& name = process.name.empty() ? process.id : process.name;
        if (!is_given(place, name)) all.push_back({name, description});
        if (!place.word.empty() && name != process.id && !is_given(place, process.id)) all.push_back({process.id, description});
    }
    return all;
}

std::vector<Candidate> event_kinds() {
    std::vector<Candidate> all;
    for (auto& name : state::event_names()) all.push_back({std::move(name), ""});
    return all;
}

std::vector<Candidate> workspaces(const Place& place, app::Context& context) {
    std::vector<Candidate> all;
    for (const auto& row : app::known_workspaces(context)) {
        if (!is_given(place, row.id)) all.push_back({row.id, "used " + format_rfc3339(row.last_used_ms)});
    }
    return all;
}

std::vector<Candidate> owners(app::Context& context) {
    std::vector<Candidate> all;
    for (auto& owner : app::known_owners(context)) all.push_back({std::move(owner), ""});
    return all;
}

// Keys first, then the values of the one that is there.
std::vector<Candidate> labels(const Place& place, app::Context& context) {
    const bool has_key = place.word.find('=') != std::string::npos;
    std::set<std::string> texts;
    const auto add = [&](const std::map<std::string, std::string>& map) {
        for (const auto& [key, value] : map) texts.insert(key + "=" + (has_key ? value : ""));
    };
    for (const auto& row : app::live_sessions(context)) add(row.labels);
    for (const auto& row : app::known_workspaces(context)) add(row.labels);
    std::vector<Candidate> all;
    for (const auto& text : texts) all.push_back({text, ""});
    return all;
}

std::vector<Candidate> manifest_keys(const Place& place) {
    const auto equals = place.word.find('=');
    std::vector<Candidate> all;
    for (const auto& key : domain::manifest_keys()) {
        const std::string path = std::string(key.path) + "=";
        if (equals == std::string::npos) {
            all.push_back({path, std::string(key.summary)});
        } else if (place.word.substr(0, equals) == key.path) {
            const bool is_switch = key.type == domain::KeyType::boolean;
            for (const auto& choice : alternatives(is_switch ? "true|false" : key.choices)) all.push_back({path + choice.value, ""});
        }
    }
    return all;
}

std::vector<Candidate> manifest_paths() {
    std::vector<Candidate> all;
    for (const auto& key : domain::manifest_keys()) all.push_back({std::string(key.path), std::string(key.summary)});
    return all;
}

std::vector<Candidate> variables() {
    std::vector<Candidate> all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        all.push_back({std::string(text.substr(0, text.find('='))), ""});
    }
    return all;
}

} // namespace

std::vector<Candidate> values_for(const Place& place, app::Context& context) {
    switch (place.completer) {
    case Completer::by_value: return place.value == "PROCESS" ? processes(place, context) : alternatives(place.value);
    case Completer::session: return sessions(place, context, "");
    case Completer::session_path: return session_paths(place, context);
    case Completer::path_inside: return paths_inside(place, context);
    case Completer::workspace: return workspaces(place, context);
    case Completer::owner: return owners(context);
    case Completer::label: return labels(place, context);
    case Completer::manifest_key: return manifest_keys(place);
    case Completer::manifest_path: return manifest_paths();
    case Completer::event_kind: return event_kinds();
    case Completer::variable: return variables();
    case Completer::nothing:
    case Completer::command: return {};
    }
    return {};
}

Completion::Files files_for(const Place& place) {
    if (place.kind != Place::Kind::value) return Completion::Files::none;
    if (place.completer == Completer::by_value) {
        if (place.value == "DIR") return Completion::Files::directories;
        if (place.value == "FILE" || place.value == "MANIFEST") return Completion::Files::all;
    }
    if (place.completer != Completer::session_path || must_be_in_session(place)) return Completion::Files::none;
    // With one side on the host, the other one is in a session.
    const bool is_second = !place.arguments.empty() && may_be_in_session(place);
    return is_second || is_in_session(place.word) ? Completion::Files::none : Completion::Files::all;
}

} // namespace sandbox::cli
