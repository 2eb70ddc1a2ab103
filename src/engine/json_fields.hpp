// SPDX-License-Identifier: Apache-2.0
// Fields of a JSON value, empty where they are missing, null or of another type. Includes json.hpp: only for .cpp files
// of this layer that read JSON.
//
//   info.id = text(json, "Id");
#pragma once

#include "util/error.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::engine {

using Json = nlohmann::json;

// Throws protocol_error. `what` names the answer in the message.
inline Json parse_json(std::string_view body, const char* what, const Json::parser_callback_t& take = nullptr) {
    Json json = Json::parse(body, take, false);
    if (json.is_discarded()) throw Error(ErrorCode::protocol_error, std::string("the answer to ") + what + " is not JSON");
    return json;
}

inline const Json& field(const Json& json, const char* name) {
    static const Json nothing;
    if (!json.is_object()) return nothing;
    const auto found = json.find(name);
    return found == json.end() ? nothing : *found;
}

inline std::string text(const Json& json, const char* name) {
    const Json& value = field(json, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

inline bool flag(const Json& json, const char* name, bool otherwise = false) {
    const Json& value = field(json, name);
    return value.is_boolean() ? value.get<bool>() : otherwise;
}

inline std::int64_t number(const Json& json, const char* name) {
    const Json& value = field(json, name);
    return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

inline std::vector<std::string> texts(const Json& json, const char* name) {
    std::vector<std::string> values;
    for (const Json& value : field(json, name)) {
        if (value.is_string()) values.push_back(value.get<std::string>());
    }
    return values;
}

inline std::map<std::string, std::string> text_map(const Json& json, const char* name) {
    std::map<std::string, std::string> values;
    const Json& object = field(json, name);
    if (!object.is_object()) return values;
    for (const auto& [key, value] : object.items()) {
        if (value.is_string()) values.emplace(key, value.get<std::string>());
    }
    return values;
}

} // namespace sandbox::engine
