// SPDX-License-Identifier: Apache-2.0
// The parts of an image's name, by the rules of the docker CLI: "node:22" is docker.io's library/node.
//
//   parse_image_reference("ghcr.io/acme/app@sha256:...").registry;   // "ghcr.io"
#pragma once

#include <string>
#include <string_view>

namespace sandbox::engine {

struct ImageReference {
    std::string name;          // without tag and digest, as it was written
    std::string tag;           // "latest" where neither tag nor digest is given; empty beside a digest alone
    std::string digest;        // "sha256:..."
    std::string registry;      // host and port; "docker.io" where the name has none
};

// Throws usage for a name that cannot be one. Leaves the finer rules to the engine.
ImageReference parse_image_reference(std::string_view reference);

} // namespace sandbox::engine
