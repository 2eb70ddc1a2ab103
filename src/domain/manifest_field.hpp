// SPDX-License-Identifier: Apache-2.0
// One value of the manifest on its way from text to a type: the readers that every key uses, each throwing with the
// place and the key's path in front.
//
//   limits.memory = read_size(field, k_least_memory);
#pragma once

#include "domain/yaml.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

struct ManifestKey;

struct Field {
    std::string path;         // "limits.memory", or "files.input/ticket.txt"
    const YamlMark& key_mark; // stands in errors where there is no value
    const YamlNode& node;

    const YamlMark& mark() const { return node.is(YamlNode::Kind::null) ? key_mark : node.mark; }
    // "m.yaml:3:5: limits.memory: MESSAGE".
    Error error(std::string_view message) const;
    Error wrong_kind(std::string_view wanted) const;
};

// Runs `read` and gives its Error the field's place and path.
template <typename Read> auto at_field(const Field& field, Read read) -> decltype(read()) {
    try {
        return read();
    } catch (const Error& failure) {
        throw field.error(failure.message()).hint(failure.hint());
    }
}

const std::string& read_scalar(const Field& field, std::string_view wanted = "text");
// A scalar without NUL or any other control character, and not empty.
std::string read_word(const Field& field);
bool read_boolean(const Field& field);
std::uint64_t read_size(const Field& field, std::uint64_t least);
std::chrono::milliseconds read_duration(const Field& field);
std::uint64_t read_count(const Field& field, std::uint64_t least, std::uint64_t most);
double read_number(const Field& field, double least, double most);
// The index of the scalar in "one|two|three".
std::size_t read_choice(const Field& field, std::string_view choices);
// The elements of a list of scalars. A single scalar is not a list.
std::vector<std::string> read_words(const Field& field);
// The field of one list element or map entry.
Field element_of(const Field& list, std::size_t index);
Field entry_of(const Field& map, const YamlNode::Entry& entry);
void require_map(const Field& field);
void require_list(const Field& field);
// Refuses every key of a map that is not in `known`.
void check_known(const Field& map, const std::vector<std::string>& known);

} // namespace sandbox::domain
