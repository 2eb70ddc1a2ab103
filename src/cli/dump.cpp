// SPDX-License-Identifier: Apache-2.0
#include "cli/dump.hpp"

#include "cli/command.hpp"
#include "cli/reference.hpp"
#include "domain/manifest.hpp"
#include "util/error_codes.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>

namespace sandbox::cli {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string_view name_of(Completer completer) {
    switch (completer) {
    case Completer::by_value: return "by_value";
    case Completer::nothing: return "nothing";
    case Completer::session: return "session";
    case Completer::session_path: return "session_path";
    case Completer::path_inside: return "path_inside";
    case Completer::workspace: return "workspace";
    case Completer::owner: return "owner";
    case Completer::label: return "label";
    case Completer::manifest_key: return "manifest_key";
    case Completer::manifest_path: return "manifest_path";
    case Completer::event_kind: return "event_kind";
    case Completer::variable: return "variable";
    case Completer::command: return "command";
    }
    return "nothing";
}

std::string_view name_of(domain::KeyType type) {
    using enum domain::KeyType;
    switch (type) {
    case text: return "text";
    case boolean: return "boolean";
    case size: return "size";
    case duration: return "duration";
    case count: return "count";
    case number: return "number";
    case list: return "list";
    case map: return "map";
    case choice: return "choice";
    }
    return "text";
}

Json options_of(const std::vector<Option>& options) {
    Json all = Json::array();
    for (const auto& option : options) {
        if (option.hidden) continue;
        all.push_back({{"name", option.name},
                       {"letter", option.letter == 0 ? Json(nullptr) : Json(std::string{option.letter})},
                       {"value", text_or_null(option.value)},
                       {"help", option.summary},
                       {"repeatable", option.repeatable},
                       {"completer", name_of(option.completer)},
                       {"environment", text_or_null(option.environment)}});
    }
    return all;
}

Json positionals_of(const Command& command) {
    Json all = Json::array();
    for (const auto& positional : command.positionals) {
        all.push_back({{"name", positional.name},
                       {"repeatable", positional.repeatable},
                       {"completer", name_of(positional.completer)}});
    }
    return all;
}

Json command_of(const Command& command) {
    return {{"name", command.name},
            {"alias", text_or_null(command.alias)},
            {"group", command.group},
            {"summary", command.summary},
            {"usage", command.usage},
            {"details", command.details},
            {"examples", command.examples()},
            {"positionals", positionals_of(command)},
            {"minArguments", command.min_arguments},
            {"maxArguments", command.max_arguments == SIZE_MAX ? Json(nullptr) : Json(command.max_arguments)},
            {"passesStatusThrough", command.status == StatusRule::passed_through},
            {"options", options_of(command.options())}};
}

Json commands_of_the_table() {
    Json all = Json::array();
    for (const auto& command : commands()) {
        if (!command.hidden) all.push_back(command_of(command));
    }
    return all;
}

Json statuses() {
    Json all = Json::array();
    for (const auto& one : exit_statuses()) {
        all.push_back({{"status", one.status}, {"commandsOnly", one.scope == StatusScope::commands}, {"help", one.meaning}});
    }
    return all;
}

Json error_codes() {
    Json all = Json::array();
    for (const auto code : all_error_codes()) {
        all.push_back({{"name", error_code_name(code)},
                       {"status", error_exit_status(code)},
                       {"retryable", error_is_retryable(code)},
                       {"help", error_summary(code)}});
    }
    return all;
}

Json variables() {
    Json all = Json::array();
    for (const auto& variable : environment_variables()) all.push_back({{"name", variable.name}, {"help", variable.meaning}});
    return all;
}

Json manifest_keys() {
    Json all = Json::array();
    for (const auto& key : domain::manifest_keys()) {
        const auto flag = domain::flag_of(key);
        all.push_back({{"path", key.path},
                       {"type", name_of(key.type)},
                       {"default", text_or_null(key.default_text)},
                       {"choices", text_or_null(key.choices)},
                       {"flag", flag ? Json(*flag) : Json(nullptr)},
                       {"help", key.summary}});
    }
    return all;
}

} // namespace

std::string dump_document() {
    const Json document{{"version", SANDBOX_VERSION},
                        {"globalOptions", options_of(global_options())},
                        {"commands", commands_of_the_table()},
                        {"exitStatuses", statuses()},
                        {"errorCodes", error_codes()},
                        {"environment", variables()},
                        {"manifestKeys", manifest_keys()}};
    return document.dump(1) + "\n";
}

} // namespace sandbox::cli
