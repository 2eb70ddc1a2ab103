// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.hpp"

#include "cli/usage_errors.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <deque>
#include <optional>

namespace sandbox::cli {
namespace {

// Where the verb's words are in the line: global options may come first, and take an argument.
struct VerbPosition {
    std::string name;
    std::vector<std::size_t> words;
    std::optional<std::size_t> stranger; // the first word before the verb's last that is no global option
};

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

VerbPosition locate_verb(const std::vector<std::string>& line) {
    VerbPosition verb;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const std::string& word = line[i];
        if (word == "--") break;
        if (is_option(word)) {
            const Option* option = find_option(global_options(), name_of_option(word));
            if (option == nullptr && word != "--version" && !verb.stranger) verb.stranger = i;
            if (option != nullptr && !option->value.empty() && word.find('=') == std::string::npos) ++i;
            continue;
        }
        if (word.empty()) throw Error(ErrorCode::usage, "the command's name is empty").hint("sandbox --help lists the commands");
        verb.words.push_back(i);
        if (!verb.name.empty()) {
            verb.name += " " + word;
            break;
        }
        verb.name = word;
        if (!is_group(word)) break;
    }
    return verb;
}

// The words that were no option: arguments, and what only looks like an option.
std::vector<std::string> check_arguments(const Command& command, const std::vector<std::string>& rest,
                                         const std::vector<Option>& options) {
    std::vector<std::string> arguments;
    bool only_arguments = false;
    for (const auto& word : rest) {
        if (command.stops_at_first_argument && arguments.size() >= command.own_arguments) {
            // Everything after the session is the command's, an own "--" and empty words included; the first "--"
            // right after the session is ours.
            const bool is_first = arguments.size() == command.own_arguments && !only_arguments;
            if (is_first && word == "--") {
                only_arguments = true;
                continue;
            }
            if (is_first && word.starts_with('-')) {
                if (command.own_arguments == 0) unknown_option(command, word, options);
                option_after_session(command, word, rest, options);
            }
            arguments.push_back(word);
        } else if (word == "--" && !only_arguments) {
            only_arguments = !command.stops_at_first_argument || command.own_arguments == 0;
        } else if (!only_arguments && word.size() > 1 && word.front() == '-') {
            unknown_option(command, word, options);
        } else {
            arguments.push_back(word);
        }
    }
    return arguments;
}

// One option's values as CLI11 collects them.
struct Slot {
    const Option* option;
    std::vector<std::string> values;
    std::size_t count = 0;
};

void declare(CLI::App& parser, Slot& slot) {
    std::string names = "--" + slot.option->name;
    if (slot.option->letter != 0) names = std::string{'-', slot.option->letter} + "," + names;
    if (slot.option->value.empty()) {
        parser.add_flag(names, slot.count);
        return;
    }
    // One argument for each occurrence, never the words that follow; the last one wins where it is not repeatable.
    parser.add_option(names, slot.values)->expected(1)->allow_extra_args(false)->multi_option_policy(
        slot.option->repeatable ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast);
}

[[noreturn]] void rethrow(const CLI::ParseError& error) {
    std::string message = error.what();
    if (!message.empty()) message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
    throw Error(ErrorCode::usage, printable(message));
}

// The option whose value is the next word; null: none. In "-it" and "-ie" it is the last letter.
const Option* awaiting_value(const std::vector<Option>& options, const std::string& word) {
    if (word.find('=') != std::string::npos) return nullptr;
    const bool is_cluster = word.size() > 2 && word[1] != '-';
    if (is_cluster) {
        for (std::size_t i = 1; i + 1 < word.size(); ++i) {
            const Option* letter = find_option(options, std::string{'-', word[i]});
            if (letter == nullptr || !letter->value.empty()) return nullptr;
        }
    }
    const Option* option = find_option(options, is_cluster ? std::string{'-', word.back()} : word);
    return option == nullptr || option->value.empty() ? nullptr : option;
}

// A switch may be written --x=true or --x=false. Returns whether it is on.
bool switch_state(const std::string& name, const std::string& value) {
    if (value != "true" && value != "false") throw Error(ErrorCode::usage, name + " is true or false, not \"" + printable(value) + "\"");
    return value == "true";
}

// "-m=1g", "-e=A=b", "-it=false": as docker reads them, what follows the "=" is the last letter's value.
struct LetterWithValue {
    std::string before; // "-i" of "-it=false"; "-" where there is none
    const Option* option;
    std::string value;
};

// Absent for any other word, "-eA=b" among them: there the first letter takes all of the rest.
std::optional<LetterWithValue> letter_with_value(const std::vector<Option>& options, const std::string& word) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals < 2 || word[1] == '-') return std::nullopt;
    const Option* option = nullptr;
    for (std::size_t i = 1; i < equals; ++i) {
        option = find_option(options, std::string{'-', word[i]});
        const bool takes_rest = i + 1 < equals && option != nullptr && !option->value.empty();
        if (option == nullptr || takes_rest) return std::nullopt;
    }
    return LetterWithValue{word.substr(0, equals - 1), option, word.substr(equals + 1)};
}

// Writes each option as CLI11 takes it as it was meant: a boolean alone means true, and it would take the next word for its
// value; a value that is missing is said in our words. Ends where the words of a command to be run begin.
std::vector<std::string> settle(const Command& command, const std::vector<std::string>& words, const std::vector<Option>& options) {
    std::vector<std::string> settled;
    auto word = words.begin();
    for (; word != words.end() && *word != "--"; ++word) {
        if (!is_option(*word)) {
            if (command.stops_at_first_argument) break;
            settled.push_back(*word);
            continue;
        }
        if (const auto last = letter_with_value(options, *word)) {
            if (last->before.size() > 1) settled.push_back(last->before);
            const std::string long_name = "--" + last->option->name;
            if (last->option->value.empty()) {
                if (switch_state({'-', last->option->letter}, last->value)) settled.push_back(long_name);
            } else if (last->value.empty()) settled.insert(settled.end(), {long_name, ""});
            else settled.push_back(long_name + "=" + last->value);
            continue;
        }
        const std::string name = name_of_option(*word);
        const Option* option = find_option(options, name);
        if (option != nullptr && option->value.empty() && name != *word) {
            if (switch_state(name, word->substr(name.size() + 1))) settled.push_back(name);
            continue;
        }
        if (option != nullptr && name.starts_with("--") && word->size() == name.size() + 1) {
            // --x= is an empty value; CLI11 would take the next word.
            settled.insert(settled.end(), {name, ""});
            continue;
        }
        settled.push_back(*word);
        option = awaiting_value(options, *word);
        if (option == nullptr) continue;
        const bool has_next = word + 1 != words.end();
        if (option->value == k_boolean_value) {
            const bool has_value = has_next && (word[1] == "true" || word[1] == "false");
            settled.back() += "=" + (has_value ? *++word : std::string("true"));
        } else if (has_next) {
            settled.push_back(*++word);
        } else {
            const std::string written = name.starts_with("--") ? name : std::string{'-', name.back()};
            throw Error(ErrorCode::usage, written + " needs a value").hint("--" + option->name + " " + option->value + ": " + option->summary);
        }
    }
    settled.insert(settled.end(), word, words.end());
    return settled;
}

std::vector<Option> all_options(const Command& command) {
    std::vector<Option> options = command.options();
    options.insert(options.end(), global_options().begin(), global_options().end());
    return options;
}

void parse_options(const Command& command, std::vector<std::string> words, ParsedLine& parsed) {
    const std::vector<Option> options = all_options(command);
    CLI::App parser;
    parser.set_help_flag();
    parser.allow_extras();
    if (command.stops_at_first_argument) parser.prefix_command();
    std::deque<Slot> slots;
    for (const auto& option : options) declare(parser, slots.emplace_back(Slot{&option, {}, 0}));
    words = settle(command, words, options);
    std::ranges::reverse(words); // CLI11 takes them from the back
    try {
        parser.parse(words);
    } catch (const CLI::ParseError& error) {
        rethrow(error);
    }
    for (auto& slot : slots) {
        if (slot.count > 0) slot.values.assign(slot.count, "true");
        if (!slot.values.empty()) parsed.options[slot.option->name] = std::move(slot.values);
    }
    parsed.wants_help = parsed.options.contains("help");
    if (parsed.wants_help) return;
    const auto color = parsed.options.find("color");
    if (color != parsed.options.end() && color->second.back() != "auto" && color->second.back() != "always" &&
        color->second.back() != "never") {
        throw Error(ErrorCode::usage, "--color " + printable(color->second.back()) + " is not auto, always or never");
    }
    const auto rest = parser.remaining();
    if (command.own_arguments == 0 && !rest.empty() && rest.front() == k_separator) parsed.options[std::string(k_separator)] = {"true"};
    parsed.arguments = check_arguments(command, rest, options);
    check_count(command, parsed.arguments);
}

} // namespace

ParsedLine find_verb(const std::vector<std::string>& line) {
    ParsedLine parsed;
    VerbPosition verb;
    try {
        verb = locate_verb(line);
    } catch (const Error&) {
        // Said by parse_line(); here it is as if there were none.
    }
    parsed.command = find_command(verb.name);
    const std::size_t end = verb.words.empty() ? line.size() : verb.words.back();
    const auto before = line.begin() + static_cast<std::ptrdiff_t>(end);
    const auto stop = std::find(line.begin(), line.end(), "--");
    const bool passes = parsed.command != nullptr && parsed.command->stops_at_first_argument;
    parsed.json = std::find(line.begin(), passes ? before : stop, "--json") != (passes ? before : stop);
    // After the verb of a pass-through command only the words up to the session are ours.
    if (!passes) return parsed;
    const std::vector<Option> options = all_options(*parsed.command);
    for (auto word = before; !parsed.json && word != line.end(); ++word) {
        parsed.json = *word == "--json";
        if (word != before && (!word->starts_with('-') || *word == "--")) break;
        if (word != before && awaiting_value(options, *word) != nullptr && ++word == line.end()) break;
    }
    return parsed;
}

ParsedLine parse_line(const std::vector<std::string>& line) {
    const auto verb = locate_verb(line);
    ParsedLine parsed = find_verb(line);
    if (verb.name.empty()) {
        parsed.wants_version = std::ranges::find(line, "--version") != line.end();
        parsed.wants_help = !parsed.wants_version;
        if (verb.stranger) unknown_global(line[*verb.stranger], line);
        const auto asks = [&](std::string_view word) { return std::ranges::find(line, word) != line.end(); };
        if (!line.empty() && !parsed.wants_version && !asks("--help") && !asks("-h")) {
            throw Error(ErrorCode::usage, "no command after " + printable(line.back())).hint("sandbox --help lists the commands");
        }
        return parsed;
    }
    // The word after an option that is not ours may be its value, and no command.
    if (parsed.command == nullptr && verb.stranger) unknown_global(line[*verb.stranger], line);
    if (parsed.command == nullptr && is_group(verb.name)) {
        const bool asked = std::ranges::find(line, "--help") != line.end() || std::ranges::find(line, "-h") != line.end();
        if (!asked) throw Error(ErrorCode::usage, "sandbox " + verb.name + " needs a command").hint("sandbox " + verb.name + " --help lists them");
        parsed.wants_help = true;
        parsed.group = verb.name;
        return parsed;
    }
    if (parsed.command == nullptr) unknown_verb(verb.name);
    std::vector<std::string> words = line;
    for (auto index = verb.words.rbegin(); index != verb.words.rend(); ++index) {
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(*index));
    }
    parse_options(*parsed.command, std::move(words), parsed);
    return parsed;
}

} // namespace sandbox::cli
