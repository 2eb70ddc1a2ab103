// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.hpp"

#include "cli/first_guesses.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <deque>
#include <optional>

namespace sandbox::cli {
namespace {

const Option* find_option(const std::vector<Option>& options, std::string_view word) {
    for (const auto& option : options) {
        if (word == "--" + option.name || (option.letter != 0 && word == std::string{'-', option.letter})) {
            return &option;
        }
    }
    return nullptr;
}

// Where the verb's words are in the line: global options may come first, and take an argument.
struct VerbPosition {
    std::string name;
    std::vector<std::size_t> words;
    std::optional<std::size_t> stranger; // the first word before the verb's last that is no global option
};

// An option with its value in the same word: "--name" of "--name=web".
std::string name_of_option(std::string_view word) { return std::string(word.substr(0, word.find('='))); }

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

[[noreturn]] void unknown_verb(const std::string& name) {
    Error error(ErrorCode::usage, "unknown command \"" + printable(name) + "\"");
    if (const auto guess = hint_for_verb(name)) error.hint(*guess);
    else if (const auto near = nearest(name, names_of_commands())) error.hint("did you mean \"" + *near + "\"?");
    else error.hint("sandbox --help lists the commands");
    throw error;
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

[[noreturn]] void unknown_option(const Command& command, const std::string& word, const std::vector<Option>& options) {
    const std::string name = name_of_option(word);
    Error error(ErrorCode::usage, "unknown option " + printable(name) + " of sandbox " + std::string(command.name));
    if (const auto guess = hint_for_option(command.name, name)) error.hint(*guess);
    else if (const auto near = similar_option(name, options)) error.hint("did you mean " + *near + "?");
    else error.hint("sandbox " + std::string(command.name) + " --help lists its options");
    throw error;
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

// What stands before the command is an option of all commands, or none.
[[noreturn]] void unknown_global(const std::string& word, const std::vector<std::string>& line) {
    const std::string name = name_of_option(word);
    Error error(ErrorCode::usage, "unknown option " + printable(name));
    if (const auto guess = hint_for_option(k_before_commands, name)) error.hint(*guess);
    else if (const auto placed = in_its_place(name, line)) error.hint(*placed);
    else if (const auto near = similar_option(name, global_options())) error.hint("did you mean " + *near + "?");
    else error.hint("sandbox --help lists them");
    throw error;
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

// The words that were no option: arguments, and what only looks like an option.
std::vector<std::string> check_arguments(const Command& command, const std::vector<std::string>& rest,
                                         const std::vector<Option>& options) {
    std::vector<std::string> arguments;
    bool only_arguments = false;
    for (const auto& word : rest) {
        if (command.stops_at_first_argument && !arguments.empty()) {
            // Everything after the session is the command's, an own "--" and empty words included; the first "--"
            // right after the session is ours.
            if (arguments.size() == 1 && word == "--" && !only_arguments) {
                only_arguments = true;
                continue;
            }
            if (arguments.size() == 1 && !only_arguments && word.starts_with('-')) {
                throw Error(ErrorCode::usage, printable(word) + " stands where the command to run is expected")
                    .hint("options go before the session: " + in_right_order(command, rest, options));
            }
            arguments.push_back(word);
        } else if (word == "--" && !only_arguments) {
            only_arguments = !command.stops_at_first_argument;
        } else if (!only_arguments && word.size() > 1 && word.front() == '-') {
            unknown_option(command, word, options);
        } else {
            arguments.push_back(word);
        }
    }
    return arguments;
}

std::string missing_argument(const Command& command, std::size_t given) {
    const std::string start = "sandbox " + std::string(command.name);
    if (command.positionals.empty()) return start + " needs more arguments";
    return start + ": " + std::string(command.positionals[std::min(given, command.positionals.size() - 1)].name) + " is missing";
}

// A session alone is a wish to be in it.
std::optional<std::string> hint_for_missing(const Command& command, const std::vector<std::string>& arguments) {
    if (!command.stops_at_first_argument || arguments.size() != 1) return std::nullopt;
    return "a shell in it: sandbox " + std::string(command.name) + " -it " + printable(arguments.front()) + " sh";
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

void parse_options(const Command& command, std::vector<std::string> words, ParsedLine& parsed) {
    std::vector<Option> options = command.options();
    options.insert(options.end(), global_options().begin(), global_options().end());
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
    parsed.arguments = check_arguments(command, parser.remaining(), options);
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
    for (auto word = before; passes && !parsed.json && word != line.end(); ++word) {
        parsed.json = *word == "--json";
        if (word != before && !word->starts_with('-')) break;
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
