// SPDX-License-Identifier: Apache-2.0
// The manifest that `manifest init` writes: it runs as it is, and shows every key that most people want.
//
//   write_all(file.fd(), starter_manifest("/usr/share/sandbox/manifest.schema.json"));
#pragma once

#include <string>
#include <string_view>

namespace sandbox::domain {

// `schema` is the place that the editor reads the JSON Schema from: a path or an address.
std::string starter_manifest(std::string_view schema);

} // namespace sandbox::domain
