// SPDX-License-Identifier: Apache-2.0
#include "domain/ceilings.hpp"

#include "domain/manifest_decode.hpp"
#include "domain/manifest_json.hpp"
#include "domain/manifest_tree.hpp"
#include "domain/manifest_values.hpp"
#include "domain/shown.hpp"
#include "domain/units.hpp"
#include "util/format.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace sandbox::domain {
namespace {

using Rule = CeilingRule;
using Kind = YamlNode::Kind;

constexpr std::string_view k_sessions = "sessions";
constexpr std::string_view k_per_owner = "sessionsPerOwner";
constexpr std::uint64_t k_most_sessions = 1'000'000;

YamlNodePtr canonical(const Manifest& manifest) { return tree_from_json("manifest", to_canonical_json(manifest)); }

YamlNodePtr value_at(const YamlNode& root, std::string_view path) {
    const auto* entry = find_path(root, path);
    return entry == nullptr ? nullptr : entry->value;
}

// A canonical value as a number that compares: no limit, written as nothing or as a duration of 0, is more than any.
double magnitude(const ManifestKey& key, const YamlNode* node) {
    constexpr double k_unlimited = std::numeric_limits<double>::infinity();
    if (node == nullptr) return k_unlimited;
    if (key.type == KeyType::size) return static_cast<double>(parse_size(node->text));
    if (key.type == KeyType::duration) {
        const auto duration = parse_duration(node->text);
        return duration.count() == 0 ? k_unlimited : static_cast<double>(duration.count());
    }
    double value = 0;
    std::from_chars(node->text.data(), node->text.data() + node->text.size(), value);
    return value;
}

std::size_t rank(const ManifestKey& key, const YamlNode* node) {
    const auto choices = split(key.choices, '|');
    const auto found = node == nullptr ? choices.begin() : std::find(choices.begin(), choices.end(), node->text);
    return static_cast<std::size_t>(found - choices.begin());
}

std::vector<std::string> words(const YamlNode* node) {
    std::vector<std::string> all;
    if (node == nullptr) return all;
    for (const auto& item : node->items) all.push_back(item->text);
    return all;
}

// Whether all of `some` are in `all`; "ALL" stands for everything.
bool covers(const std::vector<std::string>& all, const std::vector<std::string>& some) {
    if (std::ranges::find(all, "ALL") != all.end()) return true;
    return std::ranges::all_of(some, [&](const std::string& word) { return std::ranges::find(all, word) != all.end(); });
}

bool exceeds(const ManifestKey& key, const YamlNode* value, const YamlNode* ceiling) {
    switch (key.ceiling) {
    case Rule::maximum: return magnitude(key, value) > magnitude(key, ceiling);
    case Rule::choice: return rank(key, value) > rank(key, ceiling);
    case Rule::only: return !covers(words(ceiling), words(value));
    case Rule::contains: return !covers(words(value), words(ceiling));
    case Rule::required:
    case Rule::same: return value == nullptr || value->text != ceiling->text;
    case Rule::none: break;
    }
    return false;
}

std::string text_of(const ManifestKey& key, const YamlNode* node) {
    if (node == nullptr) return "no limit";
    if (key.type == KeyType::duration && node->text == "0") return "0 (no limit)";
    if (!node->is(Kind::list)) return node->text;
    return formatted("[{}]", join(words(node), ", "));
}

// "at most 1GiB": what the hint tells to write.
std::string allowed(const ManifestKey& key, const YamlNode& ceiling) {
    const std::string text = text_of(key, &ceiling);
    switch (key.ceiling) {
    case Rule::maximum: return formatted("write {}: {} or less", key.path, text);
    case Rule::only: return formatted("write {}: {}, or less of it", key.path, text);
    case Rule::contains: return formatted("write {}: {}, or more", key.path, text);
    default: return formatted("write {}: {}", key.path, text);
    }
}

Error denied(const YamlNode& root, const ManifestKey& key, const YamlNode* value, const YamlNode& ceiling, const YamlMark& mark) {
    const std::string message = formatted("{} is over the ceiling of {}, set in {}", shown(text_of(key, value)),
                                          shown(text_of(key, &ceiling)), origin_of(mark));
    const auto* written = find_path(root, key.path);
    const Error at = written == nullptr
                         ? Error(ErrorCode::denied, formatted("{}: {}", key.path, message))
                         : Field{std::string(key.path), written->mark, *written->value}.error(message);
    return Error(ErrorCode::denied, at.message()).hint(allowed(key, ceiling));
}

std::vector<std::string> bounded_keys() {
    std::vector<std::string> keys{std::string(k_sessions), std::string(k_per_owner)};
    for (const ManifestKey& key : manifest_keys()) {
        if (key.ceiling != Rule::none) keys.emplace_back(key.path);
    }
    return keys;
}

void check_top_level(const YamlNode::Entry& entry) {
    if (find_key(entry.key) != nullptr || is_section(entry.key)) return;
    const auto known = bounded_keys();
    auto near = nearest(entry.key, known);
    if (!near) near = nearest_key(entry.key); // by its last segment
    throw located(entry.mark, formatted("unknown key \"{}\"{}", shown(entry.key),
                                        near ? formatted("; did you mean \"{}\"?", *near) : std::string()))
        .hint(formatted("ceilings: {}", join(known, ", ")));
}

// A ceiling that would bound nothing is a mistake, and refused rather than believed in.
void check_bounds(const Field& field, const ManifestKey& key, const YamlNode& value) {
    if (key.ceiling == Rule::none) {
        throw field.error("this key has no ceiling").hint(formatted("ceilings: {}", join(bounded_keys(), ", ")));
    }
    if (key.ceiling == Rule::required && value.text != "true") throw field.error("only true can be a ceiling");
    if (key.type == KeyType::duration && value.text == "0") throw field.error("0 stands for no limit, which is no ceiling");
    if (key.path == "security.seccomp" && value.text == "unconfined") throw field.error("unconfined is no ceiling");
}

void visit(const Field& section, const auto& leaf) {
    require_map(section);
    for (const auto& entry : section.node.entries) {
        const Field field = entry_of(section, entry);
        if (is_section(field.path) && find_key(field.path) == nullptr) visit(field, leaf);
        else leaf(field, entry.mark);
    }
}

} // namespace

void Ceilings::add_count(const Field& field, std::optional<CapacityLimit>& limit) {
    const std::uint64_t most = read_count(field, 1, k_most_sessions);
    if (!limit || most < limit->most) limit = CapacityLimit{most, origin_of(field.key_mark)};
}

void Ceilings::add(const YamlNode& section) {
    require_map(Field{"ceilings", section.mark, section});
    auto rest = std::make_shared<YamlNode>(section);
    rest->kind = Kind::map;
    rest->entries.clear();
    for (const auto& entry : section.entries) {
        const Field field{entry.key, entry.mark, *entry.value};
        if (entry.key == k_sessions) {
            add_count(field, m_capacity.sessions);
        } else if (entry.key == k_per_owner) {
            add_count(field, m_capacity.sessions_per_owner);
        } else {
            check_top_level(entry);
            rest->entries.push_back(entry);
        }
    }
    // Read by the manifest's own decoder, so that it is as strict and says the same.
    const YamlNodePtr tree = normalise_manifest(rest);
    DecodeContext context;
    context.is_partial = true;
    const YamlNodePtr values = canonical(decode_manifest(*tree, context));
    visit(Field{"", tree->mark, *tree}, [&](const Field& field, const YamlMark& mark) {
        const ManifestKey* key = find_key(field.path);
        YamlNodePtr value = value_at(*values, field.path);
        if (key == nullptr) return; // an extension's free key; the decoder has seen it
        check_bounds(field, *key, value == nullptr ? field.node : *value);
        if (value != nullptr) m_ceilings.push_back({key, std::move(value), mark});
    });
}

YamlNodePtr Ceilings::lowered() const {
    YamlNodePtr tree = std::make_shared<YamlNode>(YamlNode{Kind::map, {}, false, false, {}, {}, {}});
    const YamlNodePtr built_in = canonical(Manifest{});
    for (const Ceiling& ceiling : m_ceilings) {
        YamlNodePtr now = value_at(*tree, ceiling.key->path);
        if (now == nullptr) now = value_at(*built_in, ceiling.key->path);
        if (!exceeds(*ceiling.key, now.get(), ceiling.value.get())) continue;
        auto value = std::make_shared<YamlNode>(*ceiling.value);
        value->mark = ceiling.mark;
        tree = merge_trees(tree, make_path(ceiling.mark, ceiling.key->path, std::move(value)));
    }
    return tree;
}

void Ceilings::check(const YamlNode& root, const Manifest& manifest) const {
    if (m_ceilings.empty()) return;
    const YamlNodePtr now = canonical(manifest);
    for (const Ceiling& ceiling : m_ceilings) {
        const YamlNodePtr value = value_at(*now, ceiling.key->path);
        if (exceeds(*ceiling.key, value.get(), ceiling.value.get())) {
            throw denied(root, *ceiling.key, value.get(), *ceiling.value, ceiling.mark);
        }
    }
}

std::vector<EffectiveValue> Ceilings::list() const {
    std::vector<EffectiveValue> all;
    for (const Ceiling& ceiling : m_ceilings) {
        all.push_back({std::string(ceiling.key->path), text_of(*ceiling.key, ceiling.value.get()), origin_of(ceiling.mark)});
    }
    const auto add = [&](std::string_view name, const std::optional<CapacityLimit>& limit) {
        if (limit) all.push_back({std::string(name), formatted("{}", limit->most), limit->origin});
    };
    add(k_sessions, m_capacity.sessions);
    add(k_per_owner, m_capacity.sessions_per_owner);
    return all;
}

} // namespace sandbox::domain
