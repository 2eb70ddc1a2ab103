// SPDX-License-Identifier: Apache-2.0
#include "app/git_repository.hpp"

#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

namespace sandbox::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_pointer = 1 << 20;
constexpr std::size_t k_max_places = 1000;
constexpr std::string_view k_gitfile = "gitdir: ";

// A file of git's own, up to the NUL at which git ends it too.
std::optional<std::string> read_pointer(const fs::path& path) {
    auto text = read_regular_file(path.string(), k_max_pointer);
    if (text) text->resize(std::min(text->find('\0'), text->size()));
    return text;
}

std::string without_line_ends(std::string text) {
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    return text;
}

bool is_git_directory(const fs::path& path) {
    std::error_code ignored;
    const bool has_head = fs::symlink_status(path / "HEAD", ignored).type() != fs::file_type::not_found;
    return has_head && (fs::is_directory(path / "objects", ignored) || fs::exists(path / "commondir", ignored));
}

// All that git would open, each place once.
class Places {
  public:
    explicit Places(const std::function<void(const std::string& real)>& visit) : m_visit(visit) {}

    void add_repository(const fs::path& git_directory) {
        add(git_directory);
        fs::path common = git_directory;
        if (const auto pointer = read_pointer(git_directory / "commondir")) common = git_directory / without_line_ends(*pointer);
        add(common);
        add_objects(common / "objects");
    }

  private:
    // What is not there is not read by git either.
    void add(const fs::path& path) {
        std::error_code failure;
        const fs::path real = fs::canonical(path, failure);
        if (failure || !m_seen.insert(real).second) return;
        if (m_seen.size() > k_max_places) throw Error(ErrorCode::limit_exceeded, "the repository leads to more than a thousand places");
        m_visit(real.string());
        if (!fs::is_directory(real, failure)) return;
        // Git follows links anywhere in there: a pack may be one.
        for (const auto& entry : fs::recursive_directory_iterator(real, fs::directory_options::skip_permission_denied)) {
            if (entry.is_symlink()) add(entry.path());
        }
    }

    void add_objects(const fs::path& objects) {
        add(objects);
        std::error_code failure;
        const fs::path real = fs::canonical(objects, failure);
        if (failure || !m_objects.insert(real).second) return;
        const auto alternates = read_pointer(real / "info/alternates");
        if (!alternates) return;
        for (const auto& line : split(*alternates, '\n')) {
            if (line.empty() || line.starts_with('#')) continue;
            if (line.starts_with('"')) throw Error(ErrorCode::failed, "quoted paths in objects/info/alternates are not read");
            // Older versions of git take ".." away before they look at links.
            add_objects(real / line);
            add_objects((real / line).lexically_normal());
        }
    }

    const std::function<void(const std::string& real)>& m_visit;
    std::set<fs::path> m_seen;
    std::set<fs::path> m_objects;
};

} // namespace

std::string git_directory_of(const std::string& path) {
    const fs::path root = fs::absolute(path);
    std::error_code failure;
    fs::path found;
    if (fs::is_regular_file(root / ".git", failure)) {
        const auto pointer = read_pointer(root / ".git").value_or("");
        if (pointer.starts_with(k_gitfile)) found = root / without_line_ends(pointer.substr(k_gitfile.size()));
    } else if (is_git_directory(root / ".git")) {
        found = root / ".git";
    } else {
        found = root;
    }
    const fs::path real = fs::canonical(found, failure);
    if (found.empty() || failure || !is_git_directory(real)) throw Error(ErrorCode::manifest_invalid, printable(path) + " is not a git repository");
    return real.string();
}

void for_each_place(const std::string& git_directory, const std::function<void(const std::string& real)>& visit) {
    try {
        Places(visit).add_repository(git_directory);
    } catch (const fs::filesystem_error& error) {
        throw errno_error("cannot read " + printable(error.path1().string()), error.code().value());
    }
}

} // namespace sandbox::app
