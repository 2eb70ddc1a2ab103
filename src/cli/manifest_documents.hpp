// SPDX-License-Identifier: Apache-2.0
// The JSON documents of the manifest verbs.
//
//   print_out(check_document(files));
#pragma once

#include "cli/hooks.hpp"
#include "domain/manifest.hpp"
#include "util/error.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sandbox::cli {

struct CheckedFile {
    std::string file;
    std::vector<Error> problems;
};
// {"valid", "files": [{"file", "valid", "problems": [{"file", "line", "column", "message", "hint"}]}]}, and "error" where
// it is not valid, as every failure has it.
std::string check_document(const std::vector<CheckedFile>& files, const std::optional<Error>& error);

struct ExplainedKey {
    const domain::ManifestKey* key;
    std::vector<domain::EffectiveValue> values; // that a manifest gives
};
std::string explain_document(const ExplainedKey& explained);
// {"configs", "values": [{"key", "value", "origin"}], "ceilings": [the same]}; a null origin is built in.
struct ConfigView {
    std::vector<std::string> files;
    std::vector<domain::EffectiveValue> values;
    std::vector<domain::EffectiveValue> ceilings;
    std::vector<Hook> hooks;
};
std::string config_document(const ConfigView& view);
std::string keys_document(const std::vector<const domain::ManifestKey*>& keys);

} // namespace sandbox::cli
