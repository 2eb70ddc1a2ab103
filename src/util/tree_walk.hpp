// SPDX-License-Identifier: Apache-2.0
// Walking directories by descriptor: no name is ever resolved through more than one component, no link is followed,
// and neither depth nor path length is bounded by PATH_MAX, the stack or the number of descriptors.
//
//   class Count : public TreeWalk { bool visit(int, const std::string&, unsigned format) override { ... } };
//   Count().run(Fd(::open("/srv", O_RDONLY | O_DIRECTORY)));
#pragma once

#include "util/fd.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace sandbox {

// The directories from a root down to where a walk is. Only the nearest ones stay open; the others are opened again
// through "..", and it is checked that this leads to the same directory.
class DirectoryStack {
  public:
    // Throws Error when the tree is deeper than k_tree_max_depth.
    void push(Fd directory, std::string_view name);
    // Leaves the top directory and returns it, with its parent open again. Throws Error when it was moved elsewhere.
    Fd pop();
    int top() const { return m_levels.back().directory.get(); }
    bool empty() const { return m_levels.empty(); }
    std::size_t depth() const { return m_levels.size(); }
    // The top directory's path from the root: "" for the root itself.
    const std::string& path() const { return m_path; }
    std::string_view name() const;

  private:
    struct Level {
        Fd directory;
        dev_t device;
        ino_t inode;
        std::size_t parent_path_length;
    };
    void open_top_again(int child);
    std::vector<Level> m_levels;
    std::string m_path;
};

class TreeWalk {
  public:
    virtual ~TreeWalk() = default;
    void run(Fd root);

  protected:
    // One entry of `directory`, as an S_IFMT format (never followed). True: a directory to go into later, after the rest of
    // this one was visited.
    virtual bool visit(int directory, const std::string& name, unsigned format) = 0;
    // Opens a directory that is gone into now. An empty Fd leaves it out.
    virtual Fd enter(int directory, const std::string& name);
    // Everything in `name` was visited; `directory` is its parent.
    virtual void leave(int directory, const std::string& name);
    std::string path_of(std::string_view name) const;

  private:
    void list_top();
    DirectoryStack m_stack;
    std::vector<std::vector<std::string>> m_pending;
};

// Calls `each` with the names in a directory (without "." and "..") and their S_IFMT formats, in the order of the directory.
void list_directory(int directory, const std::function<void(const std::string& name, unsigned format)>& each);
// The same up to where `each` returns false.
void list_directory_while(int directory, const std::function<bool(const std::string& name, unsigned format)>& each);
// Opens `name` in `directory` for listing; a link or another thing in its place is an error. With `force` a directory of
// one's own without permission is given it first.
Fd open_subdirectory(int directory, const std::string& name, bool force = false);
// The same. Empty on failure, errno says why.
Fd try_subdirectory(int directory, const std::string& name, bool force = false);
// rm -rf of all that is in a directory opened for listing, and of nothing else, wherever it is moved meanwhile. Throws Error when
// something is left.
void remove_contents(int directory);
// rm -rf of one entry. Throws Error when something is left.
void remove_tree_at(int directory, const std::string& name);
// Opens the directory at a safe relative path below `root`, one component at a time. Absent: errno says why.
Fd open_directory_below(int root, std::string_view path);

} // namespace sandbox
