// SPDX-License-Identifier: Apache-2.0
// A YAML (or JSON) document as a small tree in which every scalar is still its text and knows where it stands.
// Bounded on purpose: size, depth, and what aliases expand to; one document, no double keys, no merge keys, no tags
// but !!str, !!binary, !!map and !!seq.
//
//   const auto root = parse_yaml(std::make_shared<YamlSource>(YamlSource{"m.yaml", text}));
//   throw located(root->mark, "not what was wanted");
#pragma once

#include "util/error.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

// Where a text came from. A flag's errors are `usage` and show neither position nor text, which may be a secret.
// What is `stored` was checked when it was first read: its host paths stand as they are.
enum class YamlOrigin { document, flag, stored };

struct YamlSource {
    std::string name; // of the file, "-", or of the flag
    std::string text;
    std::string base_directory;
    YamlOrigin origin = YamlOrigin::document;
};

struct YamlMark {
    std::shared_ptr<const YamlSource> source;
    std::size_t line = 0;   // from 0
    std::size_t column = 0; // in bytes, from 0
};

struct YamlNode {
    enum class Kind { null, scalar, list, map };
    struct Entry {
        std::string key;
        YamlMark mark; // of the key
        std::shared_ptr<const YamlNode> value;
    };

    Kind kind = Kind::null;
    std::string text;    // scalar: as written, unquoted; !!binary is decoded
    bool plain = false;  // scalar: written without quotes
    bool binary = false; // scalar: was !!binary
    YamlMark mark;
    std::vector<std::shared_ptr<const YamlNode>> items; // list
    std::vector<Entry> entries;                         // map, in the order written

    bool is(Kind wanted) const { return kind == wanted; }
    const Entry* find(std::string_view key) const;
};
using YamlNodePtr = std::shared_ptr<const YamlNode>;

// "null", "text", "list", "map".
std::string_view kind_name(YamlNode::Kind kind);

// The document's root; an empty document is an empty map. Throws Error: manifest_invalid, or usage for a flag.
YamlNodePtr parse_yaml(std::shared_ptr<const YamlSource> source);

// The entry at a path whose names are separated by dots; null when there is none.
const YamlNode::Entry* find_path(const YamlNode& root, std::string_view path);

// An Error that starts with "name:line:column: " and ends with the source line and a caret below the place.
Error located(const YamlMark& mark, std::string_view message);

// What located() put together, taken apart again.
struct ErrorPlace {
    std::string file;
    std::size_t line = 0;   // from 1
    std::size_t column = 0; // from 1, in characters
    std::string message;    // without the line that is shown below it
};
std::optional<ErrorPlace> place_of(const Error& error);

// Throws unless the text is something that may be given to the parser: UTF-8, no control characters, not too long.
void check_yaml_text(const std::shared_ptr<const YamlSource>& source);
// JSON has surrogate pairs ("\ud83d\ude00"), which YAML has not: the same text with \U escapes in their place.
// Does nothing to a text that is not JSON.
std::string with_joined_surrogates(std::string_view text);

} // namespace sandbox::domain
