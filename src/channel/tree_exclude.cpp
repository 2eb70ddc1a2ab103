// SPDX-License-Identifier: Apache-2.0
#include "channel/tree_exclude.hpp"

#include <algorithm>
#include <fnmatch.h>

namespace sandbox::channel {
namespace {

struct Pattern {
    std::string glob;
    bool is_path = false;
    bool directories_only = false;
};

Pattern parse(std::string text) {
    Pattern pattern;
    while (text.ends_with('/')) {
        pattern.directories_only = true;
        text.pop_back();
    }
    if (text.starts_with("./")) text.erase(0, 1);
    pattern.is_path = text.find('/') != std::string::npos;
    text.erase(0, text.find_first_not_of('/'));
    pattern.glob = std::move(text);
    return pattern;
}

bool matches_path(const std::string& glob, const std::string& path) {
    if (glob.find("**") == std::string::npos) return ::fnmatch(glob.c_str(), path.c_str(), FNM_PATHNAME) == 0;
    // Without FNM_PATHNAME a star crosses slashes; "**/x" means an x at the root, too.
    if (::fnmatch(glob.c_str(), path.c_str(), 0) == 0) return true;
    return glob.starts_with("**/") && matches_path(glob.substr(3), path);
}

bool matches(const Pattern& pattern, const std::string& path, bool is_directory) {
    if (pattern.directories_only && !is_directory) return false;
    if (pattern.is_path) return matches_path(pattern.glob, path);
    return ::fnmatch(pattern.glob.c_str(), path.substr(path.rfind('/') + 1).c_str(), 0) == 0;
}

} // namespace

std::function<bool(std::string_view, bool)> exclude_matcher(const std::vector<std::string>& patterns) {
    if (patterns.empty()) return {};
    std::vector<Pattern> parsed;
    for (const auto& text : patterns) parsed.push_back(parse(text));
    return [parsed = std::move(parsed)](std::string_view path, bool is_directory) {
        const std::string terminated(path);
        return std::any_of(parsed.begin(), parsed.end(),
                           [&](const Pattern& pattern) { return matches(pattern, terminated, is_directory); });
    };
}

} // namespace sandbox::channel
