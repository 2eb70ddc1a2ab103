// SPDX-License-Identifier: Apache-2.0
#include "domain/manifest_field.hpp"

#include "domain/manifest_decode.hpp"
#include "domain/shown.hpp"
#include "domain/units.hpp"
#include "util/format.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sandbox::domain {

Error Field::error(std::string_view message) const {
    const std::string_view key = std::string_view(path).substr(0, path.find('['));
    // A flag's name stands in front already and says the same as its key.
    const bool is_said = mark().source != nullptr && mark().source->origin == YamlOrigin::flag && find_key(key) != nullptr;
    return located(mark(), key.empty() || is_said ? std::string(message) : formatted("{}: {}", shown(path), message));
}

Error Field::wrong_kind(std::string_view wanted) const {
    if (node.is(YamlNode::Kind::null)) return error(formatted("no value, where {} is wanted", wanted));
    return error(formatted("{}, where {} is wanted", kind_name(node.kind), wanted));
}

const std::string& read_scalar(const Field& field, std::string_view wanted) {
    if (!field.node.is(YamlNode::Kind::scalar)) throw field.wrong_kind(wanted);
    if (field.node.binary) throw field.error("!!binary is for the content of files only");
    return field.node.text;
}

std::string read_word(const Field& field) {
    const std::string& text = read_scalar(field);
    if (text.empty()) throw field.error("it is empty");
    const bool bad = std::any_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
    if (bad) throw field.error(formatted("control character in \"{}\"", shown(text)));
    return text;
}

bool read_boolean(const Field& field) {
    const std::string& text = read_scalar(field, "true or false");
    if (text == "true") return true;
    if (text == "false") return false;
    throw field.error(formatted("\"{}\" is neither true nor false", shown(text)));
}

std::uint64_t read_size(const Field& field, std::uint64_t least) {
    const std::string& text = read_scalar(field, "a size");
    const std::uint64_t bytes = at_field(field, [&] { return parse_size(text); });
    if (bytes < least) {
        throw field.error(formatted("{} is too small", shown(text)))
            .hint(formatted("at least {}", format_size(least)));
    }
    return bytes;
}

std::chrono::milliseconds read_duration(const Field& field) {
    const std::string& text = read_scalar(field, "a duration");
    return at_field(field, [&] { return parse_duration(text); });
}

std::uint64_t read_count(const Field& field, std::uint64_t least, std::uint64_t most) {
    const std::string& text = read_scalar(field, "a number");
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = end == text.data() + text.size() && failure == std::errc();
    if (!is_number || value < least || value > most) {
        throw field.error(formatted("\"{}\" is not a whole number from {} to {}", shown(text), least, most));
    }
    return value;
}

double read_number(const Field& field, double least, double most) {
    const std::string& text = read_scalar(field, "a number");
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    // NaN and the infinities are read too; the comparison refuses them.
    if (end != text.data() + text.size() || failure != std::errc() || !(value >= least && value <= most)) {
        throw field.error(formatted("\"{}\" is not a number from {:g} to {:g}", shown(text), least, most));
    }
    return value;
}

std::size_t read_choice(const Field& field, std::string_view choices) {
    const auto names = split(choices, '|');
    const std::string all = formatted("one of: {}", join(names, ", "));
    const std::string& text = read_scalar(field, all);
    const auto found = std::find(names.begin(), names.end(), text);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    const auto near = nearest(text, names);
    throw field.error(formatted("unknown value \"{}\"{}", shown(text),
                                  near ? formatted("; did you mean \"{}\"?", *near) : std::string()))
        .hint(all);
}

std::vector<std::string> read_words(const Field& field) {
    require_list(field);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < field.node.items.size(); ++i) words.push_back(read_word(element_of(field, i)));
    return words;
}

Field element_of(const Field& list, std::size_t index) {
    return Field{formatted("{}[{}]", list.path, index), list.key_mark, *list.node.items[index]};
}

Field entry_of(const Field& map, const YamlNode::Entry& entry) {
    return Field{map.path.empty() ? entry.key : formatted("{}.{}", map.path, entry.key), entry.mark, *entry.value};
}

void require_map(const Field& field) {
    // `env:` with every line below it commented out is null, and means the empty map; the same for lists.
    if (!field.node.is(YamlNode::Kind::map) && !field.node.is(YamlNode::Kind::null)) throw field.wrong_kind("a map");
}

void require_list(const Field& field) {
    if (!field.node.is(YamlNode::Kind::list) && !field.node.is(YamlNode::Kind::null)) throw field.wrong_kind("a list");
}

void check_known(const Field& map, const std::vector<std::string>& known) {
    for (const auto& entry : map.node.entries) {
        if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
        const auto near = nearest(entry.key, known);
        throw located(entry.mark, formatted("unknown key \"{}\"{}", shown(entry.key),
                                              near ? formatted("; did you mean \"{}\"?", *near) : std::string()))
            .hint(formatted("here: {}", join(known, ", ")));
    }
}

} // namespace sandbox::domain
