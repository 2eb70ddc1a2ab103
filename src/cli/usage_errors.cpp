// SPDX-License-Identifier: Apache-2.0
#include "cli/usage_errors.hpp"

#include "cli/first_guesses.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <optional>

namespace sandbox::cli {
namespace {

// Names of commands and of families of them, as far as they are for people.
std::vector<std::string> names_of_commands() {
    std::vector<std::string> names;
    for (const auto& command : commands()) {
        if (command.hidden) continue;
        names.emplace_back(command.name);
        if (!command.alias.empty()) names.emplace_back(command.alias);
        const auto space = command.name.find(' ');
        if (space != std::string_view::npos) names.emplace_back(command.name.substr(0, space));
    }
    return names;
}

// What was begun and not ended ("--mem"), else what is spelled nearly so.
std::optional<std::string> similar_option(const std::string& name, const std::vector<Option>& options) {
    constexpr std::size_t k_telling = 5; // --xyz
    std::vector<std::string> names;
    std::vector<std::string> begun;
    for (const auto& option : options) {
        if (option.hidden) continue;
        names.push_back("--" + option.name);
        if (name.size() >= k_telling && names.back().starts_with(name)) begun.push_back(names.back());
    }
    if (!begun.empty()) return join(begun, " or ");
    return name.size() > 2 ? nearest(name, names) : std::nullopt;
}

// The option of a command that stands later in the line, or else of the first one that has it, where it belongs.
std::optional<std::string> in_its_place(const std::string& name, const std::vector<std::string>& line) {
    const Command* owner = nullptr;
    std::string value;
    for (const auto& command : commands()) {
        if (command.hidden) continue;
        const auto options = command.options();
        const Option* option = find_option(options, name);
        if (option == nullptr) continue;
        const bool is_meant = std::ranges::find(line, command.name) != line.end() || std::ranges::find(line, command.alias) != line.end();
        if (owner != nullptr && !is_meant) continue;
        owner = &command;
        value = option->value.empty() ? "" : " " + option->value;
        if (is_meant) break;
    }
    if (owner == nullptr) return std::nullopt;
    return "a command's options follow it: sandbox " + std::string(owner->name) + " " + name + value;
}

// `S --timeout 5s -- true` as it was meant: the options, the session, the command.
std::string in_right_order(const Command& command, const std::vector<std::string>& rest, const std::vector<Option>& options) {
    const std::size_t session = rest.front() == "--" ? 1 : 0;
    std::string before;
    std::size_t at = session + 1;
    while (at < rest.size() && rest[at] != "--" && rest[at].starts_with('-')) {
        const Option* option = find_option(options, rest[at]);
        before += " " + rest[at++];
        if (option != nullptr && !option->value.empty() && at < rest.size()) before += " " + rest[at++];
    }
    if (at < rest.size() && rest[at] == "--") ++at;
    std::string after;
    for (; at < rest.size(); ++at) after += " " + rest[at];
    return printable("sandbox " + std::string(command.name) + before + " " + rest[session] + " --" + after);
}

std::string missing_argument(const Command& command, std::size_t given) {
    const std::string start = "sandbox " + std::string(command.name);
    if (command.positionals.empty()) return start + " needs more arguments";
    return start + ": " + std::string(command.positionals[std::min(given, command.positionals.size() - 1)].name) + " is missing";
}

// A session alone is a wish to be in it.
std::optional<std::string> hint_for_missing(const Command& command, const std::vector<std::string>& arguments) {
    if (!command.stops_at_first_argument || arguments.size() != 1 || find_option(command.options(), "--tty") == nullptr) return std::nullopt;
    return "a shell in it: sandbox " + std::string(command.name) + " -it " + printable(arguments.front()) + " sh";
}

} // namespace

const Option* find_option(const std::vector<Option>& options, std::string_view word) {
    for (const auto& option : options) {
        if (word == "--" + option.name || (option.letter != 0 && word == std::string{'-', option.letter})) {
            return &option;
        }
    }
    return nullptr;
}

std::string name_of_option(std::string_view word) { return std::string(word.substr(0, word.find('='))); }

void unknown_verb(const std::string& name) {
    Error error(ErrorCode::usage, "unknown command \"" + printable(name) + "\"");
    if (const auto guess = hint_for_verb(name)) error.hint(*guess);
    else if (const auto near = nearest(name, names_of_commands())) error.hint("did you mean \"" + *near + "\"?");
    else error.hint("sandbox --help lists the commands");
    throw error;
}

void unknown_option(const Command& command, const std::string& word, const std::vector<Option>& options) {
    const std::string name = name_of_option(word);
    Error error(ErrorCode::usage, "unknown option " + printable(name) + " of sandbox " + std::string(command.name));
    if (const auto guess = hint_for_option(command.name, name)) error.hint(*guess);
    else if (const auto near = similar_option(name, options)) error.hint("did you mean " + *near + "?");
    else error.hint("sandbox " + std::string(command.name) + " --help lists its options");
    throw error;
}

void unknown_global(const std::string& word, const std::vector<std::string>& line) {
    const std::string name = name_of_option(word);
    Error error(ErrorCode::usage, "unknown option " + printable(name));
    if (const auto guess = hint_for_option(k_before_commands, name)) error.hint(*guess);
    else if (const auto placed = in_its_place(name, line)) error.hint(*placed);
    else if (const auto near = similar_option(name, global_options())) error.hint("did you mean " + *near + "?");
    else error.hint("sandbox --help lists them");
    throw error;
}

void option_after_session(const Command& command, const std::string& word, const std::vector<std::string>& rest,
                          const std::vector<Option>& options) {
    throw Error(ErrorCode::usage, printable(word) + " stands where the command to run is expected")
        .hint("options go before the session: " + in_right_order(command, rest, options));
}

void check_count(const Command& command, const std::vector<std::string>& arguments) {
    const std::string usage = "usage: sandbox " + std::string(command.name) + " " + std::string(command.usage);
    if (arguments.size() < command.min_arguments) {
        throw Error(ErrorCode::usage, missing_argument(command, arguments.size())).hint(hint_for_missing(command, arguments).value_or(usage));
    }
    if (arguments.size() > command.max_arguments) {
        const std::string& extra = arguments[command.max_arguments];
        Error error(ErrorCode::usage, "unexpected argument \"" + printable(extra) + "\"");
        throw error.hint(hint_for_argument(command.name, extra).value_or(usage));
    }
}

} // namespace sandbox::cli
