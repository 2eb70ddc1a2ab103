// SPDX-License-Identifier: Apache-2.0
// The manifest, version 1: what a session is made of, decoded and checked. Reading it does no I/O: texts come in,
// a Manifest or an Error with file:line:column and a caret comes out.
//
//   ManifestBuilder builder;
//   builder.add_document("m.yaml", text);           // -f, may be repeated: maps merge, lists replace
//   builder.set("limits.memory", "256MB", "--memory");
//   const Manifest manifest = builder.build();
#pragma once

#include "domain/capacity.hpp"
#include "domain/manifest_keys.hpp"
#include "util/error.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

using Milliseconds = std::chrono::milliseconds;

enum class PullPolicy { missing, always, never };
enum class NetworkMode { none, bridge };
enum class WorkspaceMode { ephemeral, persistent };

struct Workspace {
    WorkspaceMode mode = WorkspaceMode::ephemeral;
    std::string id; // persistent only
    bool destroy_on_session_destroy = false;
    bool shared = false;
    bool readonly = false;
    bool create = true;
};

// An env value is what was written, or where to find it. References are resolved by app/, never here.
struct EnvValue {
    enum class Kind { literal, from_env, from_file };
    Kind kind = Kind::literal;
    std::string value; // the literal, the host variable's name, or the file's path
};

// One entry of `files` or `directories`. `path` is normalised and relative to the workspace.
struct Seed {
    enum class Kind { text, from_file, from_dir, from_archive, from_git, symlink, directory };
    std::string path;
    Kind kind = Kind::text;
    std::string content;               // text: the bytes (base64 decoded); otherwise host path, URL or link target
    std::optional<std::uint32_t> mode; // permission bits, 0 to 07777
    std::vector<std::string> exclude;  // from_dir: names or glob patterns
    std::string ref;                   // from_git
};

struct Limits {
    Milliseconds timeout{0};                    // 0: none; the default for each exec
    std::uint64_t max_output = 64 * 1000;       // bytes captured for each stream
    std::optional<std::uint64_t> max_file;      // bytes, for each file copied
    std::uint64_t memory = 1ULL << 30;          // bytes
    double cpus = 1.0;
    std::uint32_t pids = 256;
    std::uint32_t max_processes = 4;
};

struct Security {
    bool readonly_rootfs = false;
    bool no_new_privileges = true;
    std::vector<std::string> drop_capabilities{"ALL"};
    std::vector<std::string> add_capabilities;
    std::string seccomp = "default"; // "default", "unconfined", or the path of a profile
    std::string runtime;             // empty: the engine's default
};

struct Lifecycle {
    Milliseconds ttl = std::chrono::hours(1);
    Milliseconds idle_timeout = std::chrono::minutes(30);
    bool auto_destroy = true;
};

struct Manifest {
    std::string name; // --name or `name:`; empty: none
    std::string image;
    PullPolicy pull = PullPolicy::missing;
    std::string workdir = "/workspace";
    std::string user; // empty: the image's
    Workspace workspace;
    std::map<std::string, std::string> labels;
    std::map<std::string, EnvValue> env;
    std::vector<Seed> seeds; // directories first, then files in path order
    Limits limits;
    NetworkMode network = NetworkMode::none;
    std::vector<std::uint16_t> publish;
    std::map<std::string, std::uint64_t> tmpfs; // absolute path -> size in bytes
    Security security;
    Lifecycle lifecycle;
    // The rest of the tree (checkpoint, export, policy), checked for unknown keys, kept as JSON text for the
    // verbs that use it.
    std::string extensions_json = "{}";
};

// Sections (checkpoint, policy) in which the manifest says something that no verb of this version carries out.
std::vector<std::string> sections_kept_for_later(const Manifest& manifest);

// export.files: what is copied out when the work is over.
struct ExportItem {
    std::string path;      // in the session, relative to the workdir
    std::string target;    // on the host
    bool optional = false; // its absence is no failure
};
// In the order of the paths.
std::vector<ExportItem> exports_of(const Manifest& manifest);

struct Config; // config.hpp

struct EffectiveValue {
    std::string path;   // "limits.memory", "env.LANG"
    std::string value;  // as it would be written; values of the environment are not shown
    std::string origin; // "m.yaml:3", "--memory", or empty for a built-in default
};

class ManifestBuilder {
  public:
    ManifestBuilder();
    ~ManifestBuilder();
    ManifestBuilder(ManifestBuilder&&) noexcept;
    ManifestBuilder& operator=(ManifestBuilder&&) noexcept;

    // Adds one YAML or JSON document; `source` names it in errors ("-" for standard input). `base_directory` is what
    // its host paths are relative to: the returned Manifest has them joined to it (lexically; no I/O), and a path that
    // leaves it is refused unless allow_path() allows it. Throws manifest_invalid.
    void add_document(std::string source, std::string_view text, std::string base_directory);
    // Adds a config file: its defaults lie below every document, over those of the configs before it, and the ceilings
    // of all of them hold. Throws manifest_invalid.
    void add_config(const Config& config);
    // Sets one key; `origin` is how the user said it ("--memory", "--set limits.memory") and stands in errors.
    // The value is read as the key's type would be in YAML; for lists and maps it is a YAML flow or `k=v`/one element,
    // and repeated calls with the same origin accumulate. Throws usage with the nearest key.
    void set(std::string_view path, std::string_view value, std::string_view origin);
    // Host directories outside the manifest's folder that its paths may reach.
    void allow_path(std::string directory);
    // Checks everything and returns the result. Throws manifest_invalid (or usage for what set() brought), and denied for
    // what is over a config's ceiling.
    Manifest build() const;
    // All that build() would throw one after the other, in the order of the lines; empty when it would throw nothing.
    std::vector<Error> problems() const;
    // Each value that is in force, and where it comes from: keys in the table's order, maps entry by entry.
    std::vector<EffectiveValue> values() const;
    // The ceilings of the configs, as they are written, and how many sessions they allow.
    std::vector<EffectiveValue> ceilings() const;
    const Capacity& capacity() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

// The canonical JSON of what the manifest says (references kept as references, no secret value), sorted keys: what
// the state row keeps and `create --dry-run --json` prints. from_canonical_json is its inverse.
std::string to_canonical_json(const Manifest& manifest);
Manifest from_canonical_json(std::string_view json);
// "sha256:<hex>" over to_canonical_json, for `create --reuse`.
std::string manifest_digest(const Manifest& manifest);

// What `theirs` says otherwise than `ours`, key by key and entry by entry of maps. Values of the environment are left out.
struct Difference {
    std::string path;
    std::string theirs;
    std::string ours;
};
std::vector<Difference> differences(const Manifest& theirs, const Manifest& ours);

} // namespace sandbox::domain
