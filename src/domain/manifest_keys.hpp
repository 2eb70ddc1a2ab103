// SPDX-License-Identifier: Apache-2.0
// The keys of the manifest as data: the decoder, the flags of `create`, `manifest explain`, the starter manifest, the
// JSON Schema and the ceilings of a config file are all made from this table.
//
//   for (const ManifestKey& key : manifest_keys()) std::cout << key.path << ": " << key.summary << '\n';
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

enum class KeyType { text, boolean, size, duration, count, number, list, map, choice };

// What a key means under `ceilings:` of a config file.
enum class CeilingRule {
    none,     // it has no order, and no ceiling
    maximum,  // not more than this; where 0 or nothing stands for "no limit", that is more than any limit
    choice,   // none of the choices after this one
    required, // this boolean and not the other one
    only,     // a list with nothing but these
    contains, // a list with at least these
    same,     // this very value
};

// The least of a number. It is the processors': the kernel's quota is 1 ms in 100 at least, and an engine takes less for no limit.
inline constexpr double k_least_number = 0.01;

struct ManifestKey {
    std::string_view path;     // "lifecycle.idleTimeout"
    KeyType type;
    std::string_view summary;  // one line, no full stop
    std::string_view default_text; // as it would be written; empty: none
    std::string_view choices;  // "none|bridge", for KeyType::choice
    std::string_view example;  // a value on one line, as YAML
    std::uint64_t least = 0;   // of a count or size; of a list, its items
    std::uint64_t most = 0;    // of a count or number; 0: what fits
    CeilingRule ceiling = CeilingRule::none;
};

std::span<const ManifestKey> manifest_keys();
// The keys of what stands below free names: "files.*.fromDir", "env.*.fromEnv", "directories.*.mode".
std::span<const ManifestKey> manifest_entry_keys();
// The last segments of the entry keys of one map or list: "files" has text, base64, fromFile, ...
std::vector<std::string> entry_key_names(std::string_view path);
// The flag of a key by the one naming rule: the last segment in kebab-case with "--" in front. The few composite keys
// whose last segment is not unique (workspace.*, checkpoint.*, export.*, policy.*) are reached by --set and have none.
std::optional<std::string> flag_of(const ManifestKey& key);

// A key by its path; null when there is none.
const ManifestKey* find_key(std::string_view path);
// The same for any path that a manifest may have: env.LANG finds env, files.run.sh.mode finds files.*.mode, and
// metadata is labels.
const ManifestKey* find_key_of(std::string_view path);
// Whether keys stand below the path ("limits", "policy.exec").
bool is_section(std::string_view path);
// The known path that somebody who wrote `path` is likely to have meant.
std::optional<std::string> nearest_key(std::string_view path);

} // namespace sandbox::domain
