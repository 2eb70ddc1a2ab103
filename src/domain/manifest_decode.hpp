// SPDX-License-Identifier: Apache-2.0
// From the merged tree to the Manifest. Each key of the table has one reader; the sections are derived from the table.
#pragma once

#include "domain/manifest.hpp"
#include "domain/manifest_field.hpp"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

// Errors that are collected, so that a check can tell all of them.
struct Problems {
    std::vector<Error> errors;
    std::set<std::string, std::less<>> keys; // top-level keys with an error: what holds between keys cannot be told of them
};

struct DecodeContext {
    std::vector<std::string> allowed_paths;
    // Canonical JSON of our own, where what holds between keys was checked before, or a part that others complete.
    bool is_partial = false;
    bool is_stored = false; // what a version of ours has taken before: a session stays usable where a rule was added since
    Problems* problems = nullptr; // null: the first error is thrown
};

// Runs `read`. Its Error, which belongs to the key of `path`, is kept where the context collects, and thrown on elsewhere.
template <typename Read> void attempt(const DecodeContext& context, std::string_view path, Read read) {
    try {
        read();
    } catch (const Error& failure) {
        if (context.problems == nullptr) throw;
        context.problems->errors.push_back(failure);
        context.problems->keys.emplace(path.substr(0, path.find('.')));
    }
}

// Throws manifest_invalid or, for what a flag brought, usage.
Manifest decode_manifest(const YamlNode& root, const DecodeContext& context);

// Its parts, each in a file of its own.
void read_files(const Field& field, Manifest& manifest, const DecodeContext& context);
void read_directories(const Field& field, Manifest& manifest, const DecodeContext& context);
// Orders the seeds and refuses those that exclude each other.
void check_seeds(const YamlNode& root, std::vector<Seed>& seeds);
void read_env(const Field& field, Manifest& manifest, const DecodeContext& context);
void read_labels(const Field& field, Manifest& manifest, const DecodeContext& context);
void read_tmpfs(const Field& field, Manifest& manifest, const DecodeContext& context);
void read_publish(const Field& field, Manifest& manifest, const DecodeContext& context);
std::vector<std::string> read_capabilities(const Field& field, const DecodeContext& context);
// checkpoint, export and policy: checked, and brought to one form as a tree.
YamlNodePtr read_extensions(const YamlNode& root, const DecodeContext& context);
// What holds between keys.
void check_manifest(const YamlNode& root, const Manifest& manifest, const DecodeContext& context);

// An unknown key of the section `parent`, with the nearest known one or where it belongs in message and hint.
Error unknown_key(std::string_view parent, std::string_view key, const YamlMark& mark);
// The section of an extension ("checkpoint", "export", "policy"), which the Manifest keeps as JSON.
bool is_extension(std::string_view path);

} // namespace sandbox::domain
