// SPDX-License-Identifier: Apache-2.0
// Paths as text: inside the workspace, inside the container, and on the host below the manifest's folder. Lexical
// only; links are the concern of whoever opens the path.
#pragma once

#include "domain/manifest_field.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

// Relative, without "." and double slashes; "." alone is the workspace itself. Throws usage on an absolute or empty
// path, "..", NUL, and names that no file system takes.
std::string normalise_workspace_path(std::string_view path);
// Absolute and normalised, not the root. Throws usage.
std::string normalise_container_path(std::string_view path);
// The host path joined to its document's folder. Throws when it leaves that folder and is not below one of `allowed`.
std::string resolve_host_path(const Field& field, std::string_view path, const std::vector<std::string>& allowed);
// Whether `path` is `directory` or below it, both taken as text.
bool is_below(std::string_view path, std::string_view directory);

} // namespace sandbox::domain
