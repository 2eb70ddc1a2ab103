// SPDX-License-Identifier: Apache-2.0
// Reads a file, a link or a directory with all that is in it into a record stream. Follows no link, crosses no `..`;
// sockets and named pipes are skipped and counted, devices refused.
//
//   TreeSource source = open_tree_source(PathBase::anywhere(), "src");
//   const TreeCounts counts = read_tree(std::move(source), {}, encoder);
#pragma once

#include "util/fd.hpp"
#include "util/tree_path.hpp"
#include "util/tree_record.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox {

struct TreeSource {
    TreeType type = TreeType::file;
    Fd fd;            // the file or directory; empty for a link
    TreeRecord root;  // filled from it
    std::string name; // as the caller named it, for messages
};

// A link at the end of the path is the source itself, unless the path ends in "/" or "/." or `follow_link` is set. Throws Error
// (denied, not_found).
TreeSource open_tree_source(const PathBase& base, const std::string& path, bool follow_link = false);

struct TreeReadOptions {
    std::uint32_t mode_mask = 07777;
    std::optional<std::uint64_t> max_file;
    bool links_and_xattrs = true; // false for a reader of version 1: a hard link goes as a copy
    // Leaves out what it returns true for (a path relative to the root), a directory with all that is in it.
    std::function<bool(std::string_view path, bool is_directory)> exclude;
};

// Throws Error when something cannot be read, became shorter while it was read, or is larger than allowed.
TreeCounts read_tree(TreeSource source, const TreeReadOptions& options, TreeEncoder& out);

} // namespace sandbox
