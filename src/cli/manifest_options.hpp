// SPDX-License-Identifier: Apache-2.0
// The manifest's keys as options, and from files and options to a manifest: for every verb that makes a session.
//
//   const domain::Manifest manifest = read_manifest(call);
#pragma once

#include "cli/command.hpp"
#include "domain/manifest.hpp"

namespace sandbox::cli {

std::vector<Option> manifest_options();
// The name of a key's option, without dashes; empty where it has none.
std::string option_name(const domain::ManifestKey& key);
// Adds a manifest's file, or standard input for "-". Throws manifest_invalid.
void add_manifest(domain::ManifestBuilder& builder, const std::string& path);
// Config files, -f manifests and flags, each over the one before.
domain::ManifestBuilder manifest_builder(const Invocation& call);
// For a value that a verb other than create takes: throws denied when it is over a config's ceiling on that key.
void check_ceilings(const Invocation& call, std::string_view path, std::string_view value, std::string_view origin);
domain::Manifest read_manifest(const Invocation& call);
// The folders of the -f manifests, of configs that name host paths, and what --allow-path adds.
std::vector<std::string> host_roots(const Invocation& call);

// A value in force as a table shows it: cut, for --json has all of it.
std::string value_cell(const domain::EffectiveValue& value);

// docker's env-file grammar: NAME=VALUE lines taken as they stand, NAME alone from this environment, blank lines and
// lines that start with '#' skipped; a BOM and CRs at line ends are dropped. Throws usage with file and line.
std::vector<std::string> read_env_file(const std::string& path);
// -e NAME takes the value from this environment: "NAME=VALUE", or absent when it is not set. Throws usage for "=x".
std::optional<std::string> complete_env(const std::string& text);

} // namespace sandbox::cli
