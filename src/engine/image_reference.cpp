// SPDX-License-Identifier: Apache-2.0
#include "engine/image_reference.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>

namespace sandbox::engine {
namespace {

// The first part is a host when it could be no user name of Docker Hub.
std::string registry_of(std::string_view name) {
    const auto slash = name.find('/');
    if (slash == std::string_view::npos) return "docker.io";
    const std::string_view first = name.substr(0, slash);
    const bool has_upper = std::ranges::any_of(first, [](char c) { return c >= 'A' && c <= 'Z'; });
    const bool is_host = first.find_first_of(".:") != std::string_view::npos || first == "localhost" || has_upper;
    if (!is_host || first == "index.docker.io") return "docker.io";
    return std::string(first);
}

} // namespace

ImageReference parse_image_reference(std::string_view reference) {
    ImageReference parts;
    std::string_view rest = reference;
    if (const auto at = rest.find('@'); at != std::string_view::npos) {
        parts.digest = rest.substr(at + 1);
        rest = rest.substr(0, at);
    }
    // A colon before the last slash belongs to the registry's port.
    const auto slash = rest.rfind('/');
    const auto colon = rest.find(':', slash == std::string_view::npos ? 0 : slash);
    if (colon != std::string_view::npos) {
        parts.tag = rest.substr(colon + 1);
        rest = rest.substr(0, colon);
    } else if (parts.digest.empty()) {
        parts.tag = "latest";
    }
    parts.name = rest;
    const bool bad = std::ranges::any_of(reference, [](unsigned char c) { return c <= ' ' || c >= 0x7F; });
    const bool cut = (colon != std::string_view::npos && parts.tag.empty()) || reference.ends_with('@');
    if (parts.name.empty() || bad || cut) {
        throw Error(ErrorCode::usage, "\"" + printable(reference) + "\" is not an image's name");
    }
    parts.registry = registry_of(parts.name);
    return parts;
}

} // namespace sandbox::engine
