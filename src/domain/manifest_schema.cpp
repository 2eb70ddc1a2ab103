// SPDX-License-Identifier: Apache-2.0
#include "domain/manifest_schema.hpp"

#include "domain/manifest_keys.hpp"
#include "util/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sandbox::domain {
namespace {

using json = nlohmann::ordered_json;

// A YAML reader resolves what the parser reads as text: 22 and true are values of a text key, too.
json scalar() { return {{"type", {"string", "number", "boolean"}}}; }

// Patterns hold for strings alone. The parser knows more (overflow, falling units); these know the grammar.
json size_schema(const ManifestKey& key) {
    return {{"type", {"string", "integer"}},
            {"minimum", key.least},
            {"pattern", "^[0-9]+(\\.[0-9]{1,6} ?[KkMmGgTt]([Ii]?[Bb])?| ?([KkMmGgTt]([Ii]?[Bb])?|[Bb])?)$"}};
}

json duration_schema() {
    const json written{{"type", "string"},
                       {"pattern", "^(0|([0-9]+(d|h|m|s|ms))*[0-9]+(\\.[0-9]{1,6})?(d|h|m|s|ms))$"}};
    return {{"anyOf", {json{{"const", 0}}, written}}};
}

json count_schema(std::uint64_t least, std::uint64_t most) {
    return {{"type", {"string", "integer"}}, {"minimum", least}, {"maximum", most}, {"pattern", "^[0-9]+$"}};
}

json number_schema(const ManifestKey& key) {
    return {{"type", {"string", "number"}}, {"minimum", k_least_number}, {"maximum", key.most}, {"pattern", "^[0-9.][0-9.eE+-]*$"}};
}

json boolean_schema() { return {{"enum", {true, false, "true", "false"}}}; }

json choice_schema(const ManifestKey& key) {
    json choices = json::array();
    for (const auto& choice : split(key.choices, '|')) choices.push_back(choice);
    if (key.path == "network") choices.push_back(false); // which is none
    return {{"enum", std::move(choices)}};
}

json capability_schema() { return {{"type", "string"}, {"pattern", "^[A-Za-z][A-Za-z_]*$"}}; }

json schema_of(const ManifestKey& key);

json entry_schema(std::string_view path) {
    json properties = json::object();
    for (const ManifestKey& key : manifest_entry_keys()) {
        if (key.path.substr(0, key.path.find('.')) != path) continue;
        properties[std::string(key.path.substr(key.path.rfind('.') + 1))] = schema_of(key);
    }
    return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

// Exactly one of the entry keys that say where the content is from.
json one_source(json schema, const std::vector<std::string>& options) {
    json sources = json::array();
    for (const auto& [name, value] : schema["properties"].items()) {
        if (std::find(options.begin(), options.end(), name) == options.end()) sources.push_back({{"required", json::array({name})}});
    }
    schema["oneOf"] = std::move(sources);
    return schema;
}

json list_schema(const ManifestKey& key) {
    json items = scalar();
    if (key.path == "directories") {
        json entry = entry_schema("directories");
        entry["required"] = json::array({"path"});
        items = {{"anyOf", {scalar(), std::move(entry)}}};
    } else if (key.path == "publish") {
        items = {{"type", {"string", "integer"}}, {"minimum", 1}, {"maximum", 65535}, {"pattern", "^[0-9]+(/tcp)?$"}};
    } else if (key.path.ends_with("Capabilities")) {
        items = capability_schema();
    }
    if (key.least > 0) return {{"type", "array"}, {"minItems", key.least}, {"items", std::move(items)}};
    return {{"type", {"array", "null"}}, {"items", std::move(items)}};
}

json map_schema(const ManifestKey& key) {
    json value = scalar();
    if (key.path == "env") value = {{"anyOf", {scalar(), one_source(entry_schema("env"), {})}}};
    if (key.path == "files") value = {{"anyOf", {scalar(), one_source(entry_schema("files"), {"mode", "exclude", "ref"})}}};
    if (key.path == "tmpfs") value = size_schema(ManifestKey{"", KeyType::size, "", "", "", "", 1});
    json schema{{"type", {"object", "null"}}, {"additionalProperties", std::move(value)}};
    if (key.path == "tmpfs") schema["propertyNames"] = {{"pattern", "^/"}};
    return schema;
}

json text_schema(const ManifestKey& key) {
    if (key.path == "checkpoint.store") return {{"type", "string"}, {"pattern", "^(dir:|postgres://|s3://)"}};
    if (key.path == "checkpoint.retain") {
        return {{"anyOf", {json{{"const", "all"}}, count_schema(1, 1'000'000)}}};
    }
    if (key.path.ends_with(".mode")) return {{"type", {"string", "integer"}}, {"pattern", "^(0o)?[0-7]+$"}};
    return scalar();
}

json bare_schema(const ManifestKey& key) {
    switch (key.type) {
    case KeyType::boolean: return boolean_schema();
    case KeyType::size: return size_schema(key);
    case KeyType::duration: return duration_schema();
    case KeyType::count: return count_schema(key.least, key.most);
    case KeyType::number: return number_schema(key);
    case KeyType::choice: return choice_schema(key);
    case KeyType::list: return list_schema(key);
    case KeyType::map: return map_schema(key);
    case KeyType::text: break;
    }
    return text_schema(key);
}

json schema_of(const ManifestKey& key) {
    json schema = bare_schema(key);
    std::string description(key.summary);
    if (!key.default_text.empty()) description += " (" + std::string(key.default_text) + " by default)";
    schema["description"] = std::move(description);
    return schema;
}

// The object in which a key of `path` stands, made on the way down.
json& section_of(json& root, std::string_view path) {
    json* section = &root;
    for (;;) {
        const std::size_t dot = path.find('.');
        if (dot == std::string_view::npos) return *section;
        json& next = (*section)["properties"][std::string(path.substr(0, dot))];
        if (next.is_null()) next = {{"type", {"object", "null"}}, {"properties", json::object()}, {"additionalProperties", false}};
        section = &next;
        path.remove_prefix(dot + 1);
    }
}

} // namespace

std::string manifest_schema() {
    json root{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"$id", "urn:sandbox:manifest:1"},
              {"title", "sandbox manifest, version 1"},
              {"type", "object"},
              {"properties", json::object()},
              {"additionalProperties", false}};
    for (const ManifestKey& key : manifest_keys()) {
        if (key.path == "workspace") continue; // a section that may be a name, too: below
        section_of(root, key.path)["properties"][std::string(key.path.substr(key.path.rfind('.') + 1))] = schema_of(key);
    }
    json& properties = root["properties"];
    json workspace = properties["workspace"];
    properties["workspace"] = {{"anyOf", {scalar(), std::move(workspace)}},
                               {"description", "A persistent workspace's name, or what it is"}};
    properties["metadata"] = properties["labels"];
    return root.dump(2) + "\n";
}

} // namespace sandbox::domain
