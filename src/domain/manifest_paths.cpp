// SPDX-License-Identifier: Apache-2.0
#include "domain/manifest_paths.hpp"
#include "domain/shown.hpp"

#include "util/format.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <filesystem>

namespace sandbox::domain {
namespace {

constexpr std::size_t k_max_path = 4095;
constexpr std::size_t k_max_name = 255;

Error bad_path(std::string_view path, std::string_view why) {
    return Error(ErrorCode::usage, formatted("path \"{}\" {}", shown(path), why));
}

// The path's names, "." and empty ones left out.
std::vector<std::string> names_of(std::string_view path) {
    if (path.empty()) throw bad_path(path, "is empty");
    if (path.size() > k_max_path) throw bad_path(path.substr(0, 60), "is longer than any system takes");
    if (path.find('\0') != std::string_view::npos) throw bad_path(path, "holds a NUL byte");
    std::vector<std::string> names;
    for (auto& name : split(path, '/')) {
        if (name == "..") throw bad_path(path, "has a \"..\" in it");
        if (name.size() > k_max_name) throw bad_path(path, "has a name of more than 255 bytes");
        if (!name.empty() && name != ".") names.push_back(std::move(name));
    }
    return names;
}

std::filesystem::path normal(std::string_view path) {
    auto result = std::filesystem::path(path.empty() ? "." : path).lexically_normal();
    // "a/" normalises to itself, which compares unequal to "a".
    if (!result.has_filename() && result.has_relative_path()) result = result.parent_path();
    return result;
}

} // namespace

std::string normalise_workspace_path(std::string_view path) {
    if (path.starts_with('/')) throw bad_path(path, "is absolute").hint("write it relative to the workspace");
    const auto names = names_of(path);
    return names.empty() ? "." : join(names, "/");
}

std::string normalise_container_path(std::string_view path) {
    const auto names = names_of(path);
    if (!path.starts_with('/')) throw bad_path(path, "is not absolute");
    if (names.empty()) throw bad_path(path, "is the root of the container");
    return "/" + join(names, "/");
}

bool is_below(std::string_view path, std::string_view directory) {
    const auto relative = normal(path).lexically_relative(normal(directory));
    return !relative.empty() && *relative.begin() != "..";
}

std::string resolve_host_path(const Field& field, std::string_view path, const std::vector<std::string>& allowed) {
    if (path.empty()) throw field.error("the path is empty");
    if (path.find('\0') != std::string_view::npos) throw field.error("the path holds a NUL byte");
    const YamlSource& source = *field.mark().source;
    if (source.origin == YamlOrigin::stored) return std::string(path);
    const auto joined = normal((std::filesystem::path(source.base_directory) / path).string());
    // What is typed on the command line is allowed by being typed.
    const bool is_inside = source.origin == YamlOrigin::flag || is_below(joined.string(), source.base_directory);
    const auto holds = [&](const std::string& directory) { return is_below(joined.string(), directory); };
    if (is_inside || std::any_of(allowed.begin(), allowed.end(), holds)) return joined.string();
    // No more than it takes: a directory itself, a file's folder.
    const bool is_directory = field.path.ends_with(".fromDir") || field.path.ends_with(".fromGit");
    const auto needed = is_directory ? joined : joined.parent_path();
    throw field.error(formatted("\"{}\" leaves the manifest's folder", shown(path)))
        .hint(formatted("--allow-path {} lets the manifest read there", shown(needed.empty() ? "." : needed.string())));
}

} // namespace sandbox::domain
