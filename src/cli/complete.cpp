// SPDX-License-Identifier: Apache-2.0
#include "cli/complete.hpp"

#include "cli/complete_line.hpp"
#include "cli/complete_values.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <set>

namespace sandbox::cli {
namespace {

void add_subcommands(std::vector<Candidate>& verbs, const std::string& group) {
    for (const auto& command : commands()) {
        if (!command.hidden && command.name.starts_with(group + " ")) {
            verbs.push_back({std::string(command.name.substr(group.size() + 1)), std::string(command.summary)});
        }
    }
}

// The next word of a command: families appear once, with what they hold.
std::vector<Candidate> verbs_in(const std::string& group) {
    std::vector<Candidate> verbs;
    if (!group.empty()) {
        add_subcommands(verbs, group);
        return verbs;
    }
    std::set<std::string> families;
    for (const auto& command : commands()) {
        if (command.hidden) continue;
        const auto space = command.name.find(' ');
        const std::string word(command.name.substr(0, space));
        if (space == std::string_view::npos) {
            verbs.push_back({word, std::string(command.summary)});
            if (!command.alias.empty()) verbs.push_back({std::string(command.alias), std::string(command.summary)});
        } else if (families.insert(word).second) {
            std::vector<Candidate> members;
            add_subcommands(members, word);
            std::string names;
            for (const auto& member : members) names += (names.empty() ? "" : ", ") + member.value;
            verbs.push_back({word, names});
        }
    }
    return verbs;
}

std::vector<Candidate> options_at(const Place& place) {
    std::vector<Candidate> options;
    for (const auto& option : place.options) {
        if (option.hidden || (place.given.contains(option.name) && !option.repeatable)) continue;
        options.push_back({"--" + option.name, option.summary});
    }
    return options;
}

std::vector<Candidate> candidates_at(const Place& place) {
    switch (place.kind) {
    case Place::Kind::nothing: return {};
    case Place::Kind::verb: return verbs_in(place.group);
    case Place::Kind::option: return options_at(place);
    case Place::Kind::value: break;
    }
    if (place.completer == Completer::command) return verbs_in(join(place.arguments, " "));
    try {
        // --owner and --state-dir count as they will when the line is run.
        Invocation call(place.given, {});
        return values_for(place, call.context());
    } catch (const std::exception&) {
        // Whoever presses a key to see names wants names or nothing.
        return {};
    }
}

// A name from inside a container may hold anything; what cannot be typed or shown as it is, is not offered.
bool is_fit(const Candidate& candidate, const std::string& word) {
    return candidate.value.starts_with(word) && printable(candidate.value) == candidate.value;
}

} // namespace

Completion complete(const std::vector<std::string>& words) {
    const Place place = find_place(words);
    Completion completion;
    completion.before = place.before;
    completion.files = files_for(place);
    for (auto& candidate : candidates_at(place)) {
        if (is_fit(candidate, place.word)) {
            completion.candidates.push_back({place.before + candidate.value, printable(candidate.description)});
        }
    }
    return completion;
}

std::string completion_text(const Completion& completion) {
    std::string text;
    for (const auto& [value, description] : completion.candidates) {
        text += value + (description.empty() ? "" : "\t" + description) + "\n";
    }
    switch (completion.files) {
    case Completion::Files::none: break;
    case Completion::Files::directories: text += ":directories\t" + completion.before + "\n"; break;
    case Completion::Files::all: text += ":files\t" + completion.before + "\n"; break;
    }
    return text;
}

} // namespace sandbox::cli
