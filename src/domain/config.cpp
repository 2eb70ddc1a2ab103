// SPDX-License-Identifier: Apache-2.0
#include "domain/config.hpp"

#include "domain/manifest_decode.hpp"
#include "domain/manifest_field.hpp"
#include "domain/manifest_tree.hpp"
#include "domain/shown.hpp"
#include "util/format.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sandbox::domain {
namespace {

constexpr std::array<std::string_view, 4> k_keys{"defaults", "ceilings", "hooks", "authorize"};

Error unknown_config_key(const YamlNode::Entry& entry) {
    const std::vector<std::string> known(k_keys.begin(), k_keys.end());
    const auto near = nearest(entry.key, known);
    const std::string suffix = near ? formatted("; did you mean \"{}\"?", *near) : std::string();
    Error error = located(entry.mark, formatted("unknown key \"{}\"{}", shown(entry.key), suffix));
    const bool is_manifest_key = find_key(entry.key) != nullptr || is_section(entry.key);
    if (is_manifest_key) return error.hint(formatted("{} belongs under \"defaults\"", entry.key));
    const auto elsewhere = near ? std::nullopt : nearest_key(entry.key);
    return error.hint(elsewhere ? formatted("a manifest's keys belong under \"defaults\": defaults.{}", *elsewhere) : formatted("here: {}", join(known, ", ")));
}

std::vector<std::string> read_command(const Field& field) {
    require_list(field);
    auto command = read_words(field);
    if (command.empty() || command.front().empty()) throw field.error("is a command and its arguments, and names none");
    return command;
}

void read_hooks(const Field& hooks, Config& config) {
    for (const auto& entry : hooks.node.entries) {
        try {
            config.hooks.push_back({entry.key, entry.mark, read_command(entry_of(hooks, entry))});
        } catch (const Error& error) {
            config.hook_problems.push_back(error);
        }
    }
}

YamlNodePtr empty_map(const YamlMark& mark) {
    auto node = std::make_shared<YamlNode>();
    node->kind = YamlNode::Kind::map;
    node->mark = mark;
    return node;
}

} // namespace

Config parse_config(std::string source, std::string_view text, std::string base_directory) {
    const auto root = parse_yaml(std::make_shared<YamlSource>(
        YamlSource{std::move(source), std::string(text), std::move(base_directory), YamlOrigin::document}));
    if (!root->is(YamlNode::Kind::map)) throw located(root->mark, formatted("a config is a map, and this is {}", kind_name(root->kind)));
    Config config{empty_map(root->mark), empty_map(root->mark), {}, {}, {}};
    for (const auto& entry : root->entries) {
        const Field field{entry.key, entry.mark, *entry.value};
        if (std::ranges::find(k_keys, entry.key) == k_keys.end()) throw unknown_config_key(entry);
        if (entry.value->is(YamlNode::Kind::null)) continue;
        if (entry.key == "authorize") {
            config.authorize = read_command(field);
            continue;
        }
        require_map(field);
        if (entry.key == "defaults") config.defaults = normalise_manifest(entry.value);
        else if (entry.key == "ceilings") config.ceilings = entry.value;
        else read_hooks(field, config);
    }
    // The defaults are checked by themselves: a mistake in them must not come up only where no manifest covers it.
    DecodeContext context;
    context.is_partial = true;
    decode_manifest(*config.defaults, context);
    for (const std::string_view key : {"env", "files", "security", "export"}) {
        config.names_host_paths = config.names_host_paths || config.defaults->find(key) != nullptr;
    }
    return config;
}

} // namespace sandbox::domain
