// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include <algorithm>
#include <utility>

namespace sandbox::cli {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

// Two columns; a left side that is too wide gets a line of its own.
std::string two_columns(const Lines& lines) {
    constexpr std::size_t k_widest = 34;
    std::size_t width = 0;
    for (const auto& [left, right] : lines) {
        if (left.size() <= k_widest) width = std::max(width, left.size());
    }
    std::string text;
    for (const auto& [left, right] : lines) {
        text += "  " + left;
        if (left.size() > width) text += "\n" + std::string(width + 4, ' ');
        else text += std::string(width - left.size() + 2, ' ');
        text += right + "\n";
    }
    return text;
}

std::string left_side(const Option& option) {
    std::string text = option.letter != 0 ? std::string{'-', option.letter} + ", " : "    ";
    text += "--" + option.name;
    if (!option.value.empty()) text += " " + option.value;
    return text;
}

std::string option_lines(const std::vector<Option>& options) {
    Lines lines;
    for (const auto& option : options) {
        if (!option.hidden) lines.emplace_back(left_side(option), option.summary);
    }
    return two_columns(lines);
}

std::string command_lines(auto&& wanted) {
    Lines lines;
    for (const auto& command : commands()) {
        if (command.hidden || !wanted(command)) continue;
        std::string name(command.name);
        if (!command.alias.empty()) name += ", " + std::string(command.alias);
        lines.emplace_back(name, command.summary);
    }
    return two_columns(lines);
}

} // namespace

std::string overview() {
    std::string text = "usage: sandbox [GLOBAL OPTIONS] COMMAND ...\n\n"
                       "Disposable workspaces for scripts, CI jobs and agents: one container and one volume each, bounded and\n"
                       "gone without a trace.\n";
    std::vector<std::string_view> groups;
    for (const auto& command : commands()) {
        if (!command.hidden && std::ranges::find(groups, command.group) == groups.end()) groups.push_back(command.group);
    }
    for (const auto group : groups) {
        text += "\n" + std::string(group) + ":\n";
        text += command_lines([group](const Command& command) { return command.group == group; });
    }
    text += "\nglobal options:\n" + option_lines(global_options());
    return text + "\nsandbox COMMAND --help shows one command.\n";
}

std::string help_for(const Command& command) {
    std::string text = "usage: sandbox " + std::string(command.name);
    if (!command.usage.empty()) text += " " + std::string(command.usage);
    text += "\n\n" + std::string(command.summary) + "\n";
    if (!command.details.empty()) text += "\n" + std::string(command.details) + "\n";
    const auto options = command.options();
    if (!options.empty()) text += "\noptions:\n" + option_lines(options);
    const auto examples = command.examples();
    if (!examples.empty()) text += "\nexamples:\n";
    for (const auto example : examples) text += "  " + std::string(example) + "\n";
    return text + "\nGlobal options (--json, --owner, --engine and others): sandbox --help\n";
}

std::string group_help(std::string_view word) {
    const std::string prefix = std::string(word) + " ";
    const std::string lines =
        command_lines([&prefix](const Command& command) { return command.name.starts_with(prefix); });
    if (lines.empty()) return lines;
    return "usage: sandbox " + std::string(word) + " COMMAND ...\n\n" + lines;
}

} // namespace sandbox::cli
