// SPDX-License-Identifier: Apache-2.0
// Where a copy comes from and goes to: paths resolved freely or confined to a directory, and the rules for targets that
// `docker cp` has taught everyone.
//
//   const PathBase base = PathBase::beneath(Fd(::open("/workspace", O_PATH | O_DIRECTORY)));
//   TreeTarget target = resolve_tree_target(base, {.path = "out", .source_name = "report"}, TreeType::directory);
#pragma once

#include "util/error.hpp"
#include "util/fd.hpp"
#include "util/tree_record.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sandbox {

inline constexpr int k_max_links = 40; // on the way of one path, as the kernel's own

class PathBase {
  public:
    // As any program of this process resolves paths.
    static PathBase anywhere() { return PathBase(Fd(), {}); }
    // Neither ".." nor a link leads out of the directory. An absolute path, a link's target too, is one in it where its text begins with `name`,
    // the directory's own path (openat2 with RESOLVE_BENEATH; where that is not enough, a walk of our own from component to component).
    static PathBase beneath(Fd directory, std::string name) { return PathBase(std::move(directory), std::move(name)); }

    // open(2), of what is there. Empty on failure, errno says why: EXDEV when the path leaves the base.
    Fd open(const std::string& path, int flags) const;
    // The path from the base on, where the base is a directory and the path an absolute one in it; else the path as it is.
    std::string relative(std::string path) const;

  private:
    PathBase(Fd root, std::string name) : m_root(std::move(root)), m_name(std::move(name)) {}
    Fd m_root;
    std::string m_name;
};

// `path` relative to `directory` when its text starts there ("/workspace//x", "/workspace/../x"), and "." for the directory itself; a relative
// path as it is; absent for other absolute paths.
std::optional<std::string> path_in_directory(std::string_view directory, std::string_view path);

// errno as an Error about a path: EXDEV is denied, and conflict what stands on the way (ENOTDIR, ELOOP).
Error path_error(std::string_view what, std::string_view path);

// Throws conflict unless `mode` is a regular file's, a link's or a directory's: a copy never replaces a device (as root that would
// end /dev/null), a named pipe or a socket.
void refuse_special(unsigned mode, std::string_view path);

// Without slashes and steps to "." at its end: what is left ends in a name, or in none of its own.
std::string_view without_end_slashes(std::string_view path);
// The path of what holds a path without slashes at its end: "." for a name alone.
std::string parent_of(std::string_view path);
// The last component of a path, slashes at its end not counted. Empty where it names no entry of its own ("", ".", "..",
// "/"): then the contents are meant.
std::string base_name(std::string_view path);
// Whether the path ends in "/" or "/." (or is "."): it must be a directory, and a link there is followed.
bool must_be_directory(std::string_view path);
// Whether the path ends in "/." (or is "."): the contents are meant, not the directory.
bool means_contents(std::string_view path);

struct TreeTargetRequest {
    std::string path;
    std::string source_name; // name inside an existing directory; empty: the contents go in
    bool must_be_directory = false;
    bool make_parents = false;
};

struct TreeTarget {
    Fd directory;     // O_PATH
    std::string name; // what the root becomes in it; empty: the root's contents go into `directory` itself
};

// Throws not_found (no such parent), conflict (a directory onto a file, or the reverse), denied (outside the base).
TreeTarget resolve_tree_target(const PathBase& base, const TreeTargetRequest& request, TreeType root);
// The directory at `path`, made with mode 0755 (whatever the umask) together with its parents where missing. O_PATH.
Fd make_directories_in(const PathBase& base, const std::string& path);

} // namespace sandbox
