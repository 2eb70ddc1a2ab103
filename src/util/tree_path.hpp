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

#include <string>
#include <string_view>

namespace sandbox {

class PathBase {
  public:
    // As any program of this process resolves paths.
    static PathBase anywhere() { return PathBase(Fd()); }
    // Relative paths only, and neither ".." nor a link leads out of the directory (openat2 with RESOLVE_BENEATH; where the
    // kernel has none, a walk that follows no link at all).
    static PathBase beneath(Fd directory) { return PathBase(std::move(directory)); }

    // open(2). Empty on failure, errno says why: EXDEV when the path leaves the base.
    Fd open(const std::string& path, int flags) const;

  private:
    explicit PathBase(Fd root) : m_root(std::move(root)) {}
    Fd m_root;
};

// errno as an Error about a path: EXDEV is denied.
Error path_error(std::string_view what, std::string_view path);

// Throws conflict unless `mode` is a regular file's, a link's or a directory's: a copy never replaces a device (as root that would
// end /dev/null), a named pipe or a socket.
void refuse_special(unsigned mode, std::string_view path);

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
