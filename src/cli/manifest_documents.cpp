// SPDX-License-Identifier: Apache-2.0
#include "cli/manifest_documents.hpp"

#include "cli/manifest_options.hpp"
#include "domain/yaml.hpp"
#include "util/text.hpp"

#include <nlohmann/json.hpp>

namespace sandbox::cli {
namespace {

using Json = nlohmann::ordered_json;

Json text(std::string_view bytes) { return to_valid_utf8(bytes); }
Json text_or_null(std::string_view bytes) { return bytes.empty() ? Json(nullptr) : text(bytes); }

Json problem_of(const CheckedFile& file, const Error& problem) {
    const auto place = domain::place_of(problem);
    return {{"file", text(place ? place->file : file.file)},
            {"line", place ? Json(place->line) : Json(nullptr)},
            {"column", place ? Json(place->column) : Json(nullptr)},
            {"message", text(place ? place->message : problem.message())},
            {"hint", text_or_null(problem.hint())}};
}

std::string_view type_name(domain::KeyType type) {
    switch (type) {
    case domain::KeyType::text: return "text";
    case domain::KeyType::boolean: return "boolean";
    case domain::KeyType::size: return "size";
    case domain::KeyType::duration: return "duration";
    case domain::KeyType::count: return "count";
    case domain::KeyType::number: return "number";
    case domain::KeyType::list: return "list";
    case domain::KeyType::map: return "map";
    case domain::KeyType::choice: return "choice";
    }
    return "";
}

Json key_of(const domain::ManifestKey& key) {
    const std::string flag = option_name(key);
    Json object{{"key", key.path},
                {"type", type_name(key.type)},
                {"summary", key.summary},
                {"default", text_or_null(key.default_text)},
                {"flag", text_or_null(flag.empty() ? flag : "--" + flag)},
                {"example", key.example}};
    if (!key.choices.empty()) object["choices"] = split(key.choices, '|');
    return object;
}

Json values_of(const std::vector<domain::EffectiveValue>& values) {
    Json list = Json::array();
    for (const auto& value : values) {
        list.push_back({{"key", text(value.path)}, {"value", text_or_null(value.value)}, {"origin", text_or_null(value.origin)}});
    }
    return list;
}

} // namespace

std::string check_document(const std::vector<CheckedFile>& files, const std::optional<Error>& error) {
    Json document{{"valid", !error}, {"files", Json::array()}};
    for (const auto& file : files) {
        Json problems = Json::array();
        for (const auto& problem : file.problems) problems.push_back(problem_of(file, problem));
        document["files"].push_back({{"file", text(file.file)}, {"valid", problems.empty()}, {"problems", std::move(problems)}});
    }
    if (error) {
        document["error"] = {{"code", error_code_name(error->code())},
                             {"message", text(error->message())},
                             {"hint", text_or_null(error->hint())},
                             {"retryable", error_is_retryable(error->code())}};
    }
    return document.dump() + "\n";
}

std::string explain_document(const ExplainedKey& explained) {
    Json document = key_of(*explained.key);
    document["values"] = values_of(explained.values);
    return document.dump() + "\n";
}

std::string config_document(const ConfigView& view) {
    Json files = Json::array();
    for (const auto& file : view.files) files.push_back(text(file));
    Json hooks = Json::array();
    for (const auto& hook : view.hooks) {
        Json command = Json::array();
        for (const auto& word : hook.command) command.push_back(text(word));
        hooks.push_back({{"event", state::event_name(hook.kind)}, {"command", std::move(command)}, {"origin", text(hook.origin)}});
    }
    return Json{{"configs", std::move(files)}, {"values", values_of(view.values)}, {"ceilings", values_of(view.ceilings)}, {"hooks", std::move(hooks)}}.dump() + "\n";
}

std::string keys_document(const std::vector<const domain::ManifestKey*>& keys) {
    Json document{{"keys", Json::array()}};
    for (const auto* key : keys) document["keys"].push_back(key_of(*key));
    return document.dump() + "\n";
}

} // namespace sandbox::cli
