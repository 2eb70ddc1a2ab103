// SPDX-License-Identifier: Apache-2.0
// Where `meson install` puts the manifest's JSON Schema, for editors. Its own source, so that another prefix compiles one file again.
#pragma once

namespace sandbox::cli {

extern const char* const k_schema_file;

} // namespace sandbox::cli
