// SPDX-License-Identifier: Apache-2.0
// ManifestBuilder: documents below, flags on top, one tree at the end.
#include "domain/manifest.hpp"

#include "domain/ceilings.hpp"
#include "domain/config.hpp"
#include "domain/manifest_decode.hpp"
#include "domain/manifest_flags.hpp"
#include "domain/manifest_tree.hpp"
#include "domain/manifest_values.hpp"

#include <algorithm>
#include <utility>

namespace sandbox::domain {

namespace {

YamlNodePtr empty_map() {
    return std::make_shared<YamlNode>(YamlNode{YamlNode::Kind::map, {}, false, false, {}, {}, {}});
}

} // namespace

struct ManifestBuilder::Impl {
    YamlNodePtr defaults = empty_map(); // of config files
    YamlNodePtr documents = empty_map();
    FlagTree flags;
    Ceilings ceilings;
    DecodeContext context;

    // All the layers, the weakest below.
    YamlNodePtr merged() const {
        const YamlNodePtr given = merge_trees(defaults, merge_trees(documents, flags.root()));
        return merge_trees(ceilings.lowered(), given);
    }
};

ManifestBuilder::ManifestBuilder() : m_impl(std::make_unique<Impl>()) {}
ManifestBuilder::~ManifestBuilder() = default;
ManifestBuilder::ManifestBuilder(ManifestBuilder&&) noexcept = default;
ManifestBuilder& ManifestBuilder::operator=(ManifestBuilder&&) noexcept = default;

void ManifestBuilder::add_document(std::string source, std::string_view text, std::string base_directory) {
    const auto root = parse_yaml(std::make_shared<YamlSource>(
        YamlSource{std::move(source), std::string(text), std::move(base_directory), YamlOrigin::document}));
    m_impl->documents = merge_trees(m_impl->documents, normalise_manifest(root));
}

void ManifestBuilder::add_config(const Config& config) {
    m_impl->defaults = merge_trees(m_impl->defaults, config.defaults);
    m_impl->ceilings.add(*config.ceilings);
}

void ManifestBuilder::set(std::string_view path, std::string_view value, std::string_view origin) {
    m_impl->flags.set(path, value, origin);
}

void ManifestBuilder::allow_path(std::string directory) {
    m_impl->context.allowed_paths.push_back(std::move(directory));
}

Manifest ManifestBuilder::build() const {
    const YamlNodePtr root = m_impl->merged();
    Manifest manifest = decode_manifest(*root, m_impl->context);
    m_impl->ceilings.check(*root, manifest);
    return manifest;
}

std::vector<Error> ManifestBuilder::problems() const {
    Problems found;
    DecodeContext context = m_impl->context;
    context.problems = &found;
    const YamlNodePtr root = m_impl->merged();
    attempt(context, "", [&] { decode_manifest(*root, context); });
    const auto line = [](const Error& error) {
        const auto place = place_of(error);
        return place ? place->line : 0;
    };
    std::stable_sort(found.errors.begin(), found.errors.end(),
                     [&](const Error& a, const Error& b) { return line(a) < line(b); });
    return std::move(found.errors);
}

std::vector<EffectiveValue> ManifestBuilder::values() const {
    DecodeContext context = m_impl->context;
    context.is_partial = true;
    const YamlNodePtr root = m_impl->merged();
    const Manifest manifest = decode_manifest(*root, context);
    m_impl->ceilings.check(*root, manifest);
    return effective_values(*root, manifest);
}

std::vector<EffectiveValue> ManifestBuilder::ceilings() const { return m_impl->ceilings.list(); }
const Capacity& ManifestBuilder::capacity() const { return m_impl->ceilings.capacity(); }

} // namespace sandbox::domain
