// SPDX-License-Identifier: Apache-2.0
#include "agent/files_place.hpp"

#include "util/error.hpp"
#include "util/text.hpp"
#include "util/tree_record.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace sandbox::agent {
namespace {

constexpr int k_path_directory = O_PATH | O_DIRECTORY;

std::optional<struct stat> look(int directory, const std::string& name) {
    struct stat info {};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return info;
    if (errno != ENOENT) throw path_error("cannot look at", name);
    return std::nullopt;
}

std::string target_of(int directory, const std::string& name) {
    std::string target(k_tree_max_link + 1, '\0');
    const ssize_t length = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    if (length <= 0) throw path_error("cannot follow the link", name);
    target.resize(static_cast<std::size_t>(length));
    return target;
}

// `link`: what was followed to get there, where anything was.
Place place_at(const PathBase& base, const std::string& path, bool make_parents, const std::string& link) {
    std::string name = base_name(path);
    if (name.empty()) throw Error(ErrorCode::conflict, quoted(path.empty() ? "." : path) + " names no file of its own");
    const std::string parent = parent_of(path);
    Fd directory = make_parents ? make_directories_in(base, parent) : base.open(parent, k_path_directory);
    if (!directory && errno == ENOENT && !link.empty()) throw Error(ErrorCode::not_found, quoted(link) + " is a link into " + quoted(parent) + ", which is not there");
    if (!directory) throw path_error("cannot open directory", parent);
    const auto there = look(directory.get(), name);
    return {std::move(directory), std::move(name), there};
}

} // namespace

Place find_place(const Location& location, Links links, bool make_parents) {
    std::string path = location.path;
    std::string link;
    for (int followed = 0; followed <= k_max_links; ++followed) {
        const bool wants_directory = must_be_directory(path);
        path = without_end_slashes(path);
        Place place = place_at(location.base, path, make_parents && followed == 0, link);
        const bool is_link = place.there && S_ISLNK(place.there->st_mode);
        if (!is_link || (links == Links::taken && !wants_directory)) {
            if (wants_directory && place.there && !S_ISDIR(place.there->st_mode)) throw Error(ErrorCode::conflict, quoted(path) + " is no directory");
            return place;
        }
        if (links == Links::taken) throw Error(ErrorCode::conflict, quoted(path) + " is a link, and no directory");
        std::string target = target_of(place.directory.get(), place.name);
        link = std::exchange(path, {});
        path = target.starts_with('/') ? location.base.relative(std::move(target)) : parent_of(link) + "/" + target;
    }
    throw Error(ErrorCode::conflict, quoted(location.path) + " is a link that leads to itself");
}

std::string_view kind_of_file(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFREG: return "a file";
    case S_IFDIR: return "a directory";
    case S_IFLNK: return "a link";
    case S_IFIFO: return "a named pipe";
    case S_IFSOCK: return "a socket";
    default: return "a device";
    }
}

} // namespace sandbox::agent
