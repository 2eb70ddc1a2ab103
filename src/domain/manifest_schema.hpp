// SPDX-License-Identifier: Apache-2.0
// The manifest's JSON Schema, made from the table of keys: what gives editors completion and checks while typing. It is
// draft-07, the newest that the common editors' YAML servers read whole.
//
//   print_out(manifest_schema());
#pragma once

#include <string>

namespace sandbox::domain {

// Indented JSON with a line break at its end. It accepts every document that the parser accepts; what it cannot say
// (that a path stays inside, what holds between keys) the parser alone refuses.
std::string manifest_schema();

} // namespace sandbox::domain
