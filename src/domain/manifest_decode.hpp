// SPDX-License-Identifier: Apache-2.0
// From the merged tree to the Manifest. Each key of the table has one reader; the sections are derived from the table.
#pragma once

#include "domain/manifest.hpp"
#include "domain/manifest_field.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

struct DecodeContext {
    std::vector<std::string> allowed_paths;
    bool is_stored = false; // canonical JSON of our own: what holds between keys was checked before
};

// Throws manifest_invalid or, for what a flag brought, usage.
Manifest decode_manifest(const YamlNode& root, const DecodeContext& context);

// Its parts, each in a file of its own.
void read_files(const Field& field, Manifest& manifest, const DecodeContext& context);
void read_directories(const Field& field, Manifest& manifest);
// Orders the seeds and refuses those that exclude each other.
void check_seeds(const YamlNode& root, std::vector<Seed>& seeds);
void read_env(const Field& field, Manifest& manifest, const DecodeContext& context);
void read_labels(const Field& field, Manifest& manifest);
void read_tmpfs(const Field& field, Manifest& manifest);
void read_publish(const Field& field, Manifest& manifest);
std::vector<std::string> read_capabilities(const Field& field);
// checkpoint, export and policy: checked, and brought to one form as a tree.
YamlNodePtr read_extensions(const YamlNode& root, const DecodeContext& context);
// What holds between keys.
void check_manifest(const YamlNode& root, const Manifest& manifest);

// A key by its path; null when there is none.
const ManifestKey* find_key(std::string_view path);
// Whether keys stand below the path ("limits", "policy.exec").
bool is_section(std::string_view path);
// An unknown key of the section `parent`, with the nearest known one or where it belongs in message and hint.
Error unknown_key(std::string_view parent, std::string_view key, const YamlMark& mark);
// The section of an extension ("checkpoint", "export", "policy"), which the Manifest keeps as JSON.
bool is_extension(std::string_view path);

} // namespace sandbox::domain
