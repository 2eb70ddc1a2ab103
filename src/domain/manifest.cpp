// SPDX-License-Identifier: Apache-2.0
// ManifestBuilder: documents below, flags on top, one tree at the end.
#include "domain/manifest.hpp"

#include "domain/manifest_decode.hpp"
#include "domain/manifest_flags.hpp"
#include "domain/manifest_tree.hpp"

#include <utility>

namespace sandbox::domain {

struct ManifestBuilder::Impl {
    YamlNodePtr documents = std::make_shared<YamlNode>(YamlNode{YamlNode::Kind::map, {}, false, false, {}, {}, {}});
    FlagTree flags;
    DecodeContext context;
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

void ManifestBuilder::set(std::string_view path, std::string_view value, std::string_view origin) {
    m_impl->flags.set(path, value, origin);
}

void ManifestBuilder::allow_path(std::string directory) {
    m_impl->context.allowed_paths.push_back(std::move(directory));
}

Manifest ManifestBuilder::build() const {
    return decode_manifest(*merge_trees(m_impl->documents, m_impl->flags.root()), m_impl->context);
}

} // namespace sandbox::domain
