// SPDX-License-Identifier: Apache-2.0
#include "app/seeding.hpp"

#include "app/archive_reader.hpp"
#include "app/git_repository.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox::app {
namespace {

using domain::EnvValue;
using domain::Seed;

constexpr std::size_t k_max_env_file = 128 * 1024; // the kernel's own bound on one string (MAX_ARG_STRLEN)
constexpr std::size_t k_max_seccomp = 1 << 20;

std::optional<std::filesystem::path> real_path(const std::string& path) {
    std::error_code failure;
    auto real = std::filesystem::canonical(path.empty() ? "." : path, failure);
    if (failure) return std::nullopt;
    return real;
}

bool is_below(const std::filesystem::path& path, const std::filesystem::path& directory) {
    const auto relative = path.lexically_relative(directory);
    return !relative.empty() && *relative.begin() != "..";
}

std::optional<std::string> read_env_file(const std::string& name, const std::string& path) {
    try {
        return read_regular_file(path, k_max_env_file);
    } catch (Error& error) {
        error.context("env." + name);
        throw;
    }
}

// `path` was written, and leads to `real`.
void check_leads_below(const std::string& where, const std::string& path, const std::filesystem::path& real, const HostRoots& roots) {
    bool is_claimed = false;
    for (const auto& root : roots) {
        const auto text = [](const std::string& name) { return std::filesystem::absolute(name).lexically_normal(); };
        is_claimed = is_claimed || is_below(text(path), text(root));
        const auto real_root = real_path(root);
        if (real_root && is_below(real, *real_root)) return;
    }
    // What lies below no root by its text was typed on the command line, which is leave enough.
    if (!is_claimed) return;
    throw Error(ErrorCode::manifest_invalid, where + ": " + printable(path) + " leads out of the manifest's folder, to " + printable(real.string()))
        .hint("--allow-path " + printable((std::filesystem::is_directory(real) ? real : real.parent_path()).string()) +
              " lets the manifest read there");
}

std::string resolve(const std::string& name, const EnvValue& value) {
    switch (value.kind) {
    case EnvValue::Kind::literal: return value.value;
    case EnvValue::Kind::from_env: {
        const char* found = std::getenv(value.value.c_str());
        if (found != nullptr) return found;
        throw Error(ErrorCode::manifest_invalid,
                    "env." + name + ": the variable " + printable(value.value) + " is not set here")
            .hint("export it before sandbox create, or give it a literal value");
    }
    case EnvValue::Kind::from_file: {
        auto content = read_env_file(name, value.value);
        if (!content) {
            throw Error(ErrorCode::manifest_invalid, "env." + name + ": no file " + printable(value.value));
        }
        // Secrets are kept in files that editors end with a newline; no tool that reads them wants it.
        if (content->ends_with('\n')) content->pop_back();
        if (content->find('\0') == std::string::npos) return *content;
        throw Error(ErrorCode::manifest_invalid, "env." + name + ": " + printable(value.value) + " holds a NUL byte");
    }
    }
    throw Error(ErrorCode::internal, "env value of unknown kind");
}

// That it is a format that is read; what is in it shows as it is unpacked.
void check_archive(const Seed& seed) {
    try {
        const Fd file = open_regular_file(seed.content);
        ArchiveReader(file.get(), sandbox::quoted(seed.content)).begin();
    } catch (const Error& error) {
        throw Error(ErrorCode::manifest_invalid, "files." + printable(seed.path) + ": " + error.message()).hint(error.hint());
    }
}

// Nothing of what git would read for the clone may lie elsewhere: a gitfile or an alternate leads out as a link does.
void check_repository(const Seed& seed, const HostRoots& roots) {
    const std::string where = "files." + printable(seed.path);
    try {
        for_each_place(git_directory_of(seed.content), [&](const std::string& real) { check_leads_below(where, seed.content, real, roots); });
    } catch (const Error& error) {
        if (error.message().starts_with(where)) throw;
        throw Error(ErrorCode::manifest_invalid, where + ": " + error.message()).hint(error.hint());
    }
}

void check_source(const Seed& seed, const HostRoots& roots) {
    const bool is_repository = seed.kind == Seed::Kind::from_git && !is_git_url(seed.content);
    const bool wants_directory = seed.kind == Seed::Kind::from_dir || is_repository;
    const bool wants_file = seed.kind == Seed::Kind::from_file || seed.kind == Seed::Kind::from_archive;
    if (!wants_directory && !wants_file) return;
    struct stat info{};
    const std::string where = "files." + printable(seed.path) + ": " + printable(seed.content);
    if (::stat(seed.content.c_str(), &info) != 0) {
        throw Error(ErrorCode::manifest_invalid, where + ": " + std::strerror(errno));
    }
    if (wants_directory != S_ISDIR(info.st_mode)) {
        throw Error(ErrorCode::manifest_invalid, where + (wants_directory ? " is not a directory" : " is a directory"))
            .hint(wants_directory ? "use fromFile for a file, fromArchive for a tar" : "use fromDir for a directory");
    }
    if (wants_file && !S_ISREG(info.st_mode)) throw Error(ErrorCode::manifest_invalid, where + " is not a regular file");
    if (::access(seed.content.c_str(), R_OK) != 0) {
        throw Error(ErrorCode::manifest_invalid, where + ": " + std::strerror(errno));
    }
    check_stays_below("files." + printable(seed.path), seed.content, roots);
    if (is_repository) check_repository(seed, roots);
    if (seed.kind == Seed::Kind::from_archive) check_archive(seed);
}

bool is_entry(const Seed& seed) {
    return seed.kind == Seed::Kind::text || seed.kind == Seed::Kind::symlink || seed.kind == Seed::Kind::directory;
}

channel::Entry entry_of(const Seed& seed) {
    channel::Entry entry;
    entry.path = seed.path;
    entry.content = seed.content;
    entry.mode = seed.mode;
    if (seed.kind == Seed::Kind::symlink) entry.kind = channel::Entry::Kind::symlink;
    if (seed.kind == Seed::Kind::directory) entry.kind = channel::Entry::Kind::directory;
    return entry;
}

void plant_archive(const channel::Link& link, const Seed& seed) {
    const Fd file = open_regular_file(seed.content);
    ArchiveReader archive(file.get(), sandbox::quoted(seed.content));
    channel::ArchivePutOptions options;
    options.target = seed.path;
    options.make_parents = true;
    channel::put_archive(link, [&](std::span<char> buffer, const ArchiveReader::Wait&) { return archive.read(buffer); }, options);
}

void plant_from_host(const channel::Link& link, const Seed& seed, const std::string& path) {
    channel::PutOptions options;
    options.target = seed.path;
    options.make_parents = true;
    options.exclude = seed.exclude;
    options.mode = seed.mode;
    // The content is meant, also where the manifest names a link to it; links inside a directory stay links.
    const std::string source = real_path(path).value_or(path).string();
    channel::put_tree(link, seed.kind == Seed::Kind::from_file ? source : source + "/.", options);
}

} // namespace

void check_stays_below(const std::string& where, const std::string& path, const HostRoots& roots) {
    const auto real = real_path(path);
    if (real) check_leads_below(where, path, *real, roots);
}

channel::Environment resolve_environment(const std::map<std::string, EnvValue>& env, const HostRoots& roots) {
    channel::Environment resolved;
    for (const auto& [name, value] : env) {
        if (value.kind == EnvValue::Kind::from_file) check_stays_below("env." + name, value.value, roots);
        resolved.emplace_back(name, resolve(name, value));
    }
    return resolved;
}

void check_sources(const std::vector<Seed>& seeds, const HostRoots& roots) {
    for (const auto& seed : seeds) check_source(seed, roots);
}

namespace {

// An engine takes any JSON, and one without a default action for a profile that filters nothing.
void check_seccomp(const std::string& profile, const std::string& path) {
    const auto json = nlohmann::json::parse(profile, nullptr, false);
    if (json.is_discarded()) throw Error(ErrorCode::manifest_invalid, printable(path) + " is not JSON");
    const auto action = json.is_object() ? json.find("defaultAction") : json.end();
    if (action == json.end() || !action->is_string() || !action->get_ref<const std::string&>().starts_with("SCMP_ACT_")) {
        throw Error(ErrorCode::manifest_invalid, printable(path) + " is no seccomp profile: its \"defaultAction\" has to be a SCMP_ACT_ name");
    }
}

} // namespace

std::string read_seccomp(const domain::Manifest& manifest, const HostRoots& roots) {
    const std::string& path = manifest.security.seccomp;
    if (path == "default" || path == "unconfined") return {};
    check_stays_below("security.seccomp", path, roots);
    try {
        if (auto profile = read_regular_file(path, k_max_seccomp)) {
            check_seccomp(*profile, path);
            return std::move(*profile);
        }
    } catch (const Error& error) {
        throw Error(ErrorCode::manifest_invalid, "security.seccomp: " + error.message()).hint(error.hint());
    }
    throw Error(ErrorCode::manifest_invalid, "security.seccomp: no file " + printable(path));
}

HostInputs read_host_inputs(const domain::Manifest& manifest, const HostRoots& roots) {
    HostInputs inputs;
    inputs.env = resolve_environment(manifest.env, roots);
    check_sources(manifest.seeds, roots);
    inputs.seccomp = read_seccomp(manifest, roots);
    return inputs;
}

void plant(const channel::Link& link, const std::vector<Seed>& seeds, const GitClones& clones) {
    std::vector<channel::Entry> entries;
    for (const auto& seed : seeds) {
        if (is_entry(seed)) entries.push_back(entry_of(seed));
    }
    if (!entries.empty()) channel::put_entries(link, entries);
    for (const auto& seed : seeds) {
        if (is_entry(seed)) continue;
        try {
            if (seed.kind == Seed::Kind::from_archive) plant_archive(link, seed);
            else plant_from_host(link, seed, seed.kind == Seed::Kind::from_git ? clones.path_of(seed) : seed.content);
        } catch (Error& error) {
            error.context("files." + printable(seed.path));
            throw;
        }
    }
}

} // namespace sandbox::app
