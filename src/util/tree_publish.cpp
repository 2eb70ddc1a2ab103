// SPDX-License-Identifier: Apache-2.0
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/tree_writer.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/fs.h>
#include <optional>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox {
namespace {

constexpr int k_path_directory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// Where what was replaced waits until the copy is done.
constexpr const char* k_replaced = "replaced";
// A merge of more entries than this is still checked beforehand, but can no longer be undone as a whole.
constexpr std::size_t k_max_steps = 100'000;

std::optional<struct stat> look(int directory, const std::string& name) {
    struct stat info {};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return info;
    if (errno != ENOENT) throw errno_error("cannot look at " + quoted(name));
    return std::nullopt;
}

// Moving a directory rewrites its "..", for which its owner needs write permission on it.
void move(int from, const std::string& name, int to, const std::string& new_name, unsigned flags) {
    if (::renameat2(from, name.c_str(), to, new_name.c_str(), flags) == 0) return;
    const int number = errno;
    const auto info = look(from, name);
    if (number != EACCES || !info || !S_ISDIR(info->st_mode)) throw errno_error("cannot put " + quoted(new_name) + " in place", number);
    const Fd directory = open_subdirectory(from, name, true);
    const int result = ::renameat2(from, name.c_str(), to, new_name.c_str(), flags);
    const int again = errno;
    ::fchmod(directory.get(), info->st_mode & 07777);
    if (result != 0) throw errno_error("cannot put " + quoted(new_name) + " in place", again);
}

// Walks the staged tree with the directories of the target beside it, as far as these are there.
class MergeWalk : public TreeWalk {
  public:
    explicit MergeWalk(int target) : m_target_root(target) {
        m_target.push(Fd(::openat(target, ".", k_path_directory)), "");
    }

  protected:
    Fd enter(int directory, const std::string& name) override {
        Fd target(::openat(m_target.top(), name.c_str(), k_path_directory));
        if (!target) throw errno_error("cannot open directory " + quoted(path_of(name)));
        m_target.push(std::move(target), name);
        return open_subdirectory(directory, name, true);
    }
    void leave(int, const std::string&) override { m_target.pop(); }
    int target() const { return m_target.top(); }
    int target_root() const { return m_target_root; }

  private:
    int m_target_root;
    DirectoryStack m_target;
};

// Finds everything that would keep a merge from being done, before any of it is.
class ConflictCheck final : public MergeWalk {
  public:
    explicit ConflictCheck(int target_root) : MergeWalk(target_root), m_device(device_of(target_root)) { check_writable(target_root, "."); }

  protected:
    bool visit(int, const std::string& name, unsigned format) override {
        const auto there = look(target(), name);
        if (!there) return false;
        refuse_special(there->st_mode, path_of(name));
        const bool is_directory = format == S_IFDIR;
        if (is_directory == S_ISDIR(there->st_mode)) return is_directory;
        const std::string path = quoted(path_of(name));
        throw Error(ErrorCode::conflict, is_directory ? path + " at the target is no directory, but one is to be copied there"
                                                      : path + " at the target is a directory, but none is to be copied there");
    }
    Fd enter(int directory, const std::string& name) override {
        Fd staged = MergeWalk::enter(directory, name);
        if (device_of(target()) != m_device) {
            throw Error(ErrorCode::conflict, quoted(path_of(name)) + " at the target is another file system").hint("copy into it separately");
        }
        check_writable(target(), path_of(name));
        return staged;
    }

  private:
    static dev_t device_of(int directory) {
        struct stat info {};
        if (::fstat(directory, &info) != 0) throw errno_error("cannot look at the target");
        return info.st_dev;
    }
    static void check_writable(int directory, const std::string& path) {
        if (::faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) != 0) throw errno_error("cannot write in " + quoted(path));
    }
    dev_t m_device;
};

class Merge final : public MergeWalk {
  public:
    Merge(int staging, int target_root) : MergeWalk(target_root) {
        if (::mkdirat(staging, k_replaced, S_IRWXU) != 0) throw errno_error("cannot write beside the target");
        m_replaced = open_subdirectory(staging, k_replaced);
    }

    // Brings back what was there. What cannot be brought back stays as it is: the error that led here is the one to tell.
    void undo() noexcept {
        for (; !m_steps.empty(); m_steps.pop_back()) undo(m_steps.back());
    }

  protected:
    bool visit(int directory, const std::string& name, unsigned format) override {
        const auto there = look(target(), name);
        if (format == S_IFDIR && there) return true; // what it is was checked; going in fails if it has become something else
        if (there && S_ISDIR(there->st_mode)) throw Error(ErrorCode::conflict, quoted(path_of(name)) + " became a directory");
        if (there) refuse_special(there->st_mode, path_of(name));
        const std::string number = std::to_string(m_count++);
        if (there) replace(directory, name, number);
        else {
            move(directory, name, target(), name, 0);
            remember(path_of(name), number, false);
        }
        return false;
    }

  private:
    struct Step {
        std::string path;
        std::string number;
        bool is_exchange;
    };

    void replace(int directory, const std::string& name, const std::string& number) {
        if (::renameat2(directory, name.c_str(), target(), name.c_str(), RENAME_EXCHANGE) != 0) {
            if (errno != EINVAL && errno != ENOSYS) throw errno_error("cannot replace " + quoted(path_of(name)));
            return move(directory, name, target(), name, 0); // no exchange on this file system: this one can't be undone
        }
        // The old one goes out of the walk's way: a listing may show it again where the new one was.
        if (::renameat(directory, name.c_str(), m_replaced.get(), number.c_str()) != 0) {
            const Error error = errno_error("cannot put the old " + quoted(path_of(name)) + " aside");
            ::renameat2(directory, name.c_str(), target(), name.c_str(), RENAME_EXCHANGE);
            throw error;
        }
        remember(path_of(name), number, true);
    }

    void remember(std::string path, const std::string& number, bool is_exchange) {
        if (m_steps.size() < k_max_steps) m_steps.push_back({std::move(path), number, is_exchange});
    }

    void undo(const Step& step) noexcept {
        const auto slash = step.path.rfind('/');
        const bool is_top = slash == std::string::npos;
        const Fd parent = open_directory_below(target_root(), is_top ? "" : std::string_view(step.path).substr(0, slash));
        const std::string name = is_top ? step.path : step.path.substr(slash + 1);
        ::renameat2(parent.get(), name.c_str(), m_replaced.get(), step.number.c_str(), step.is_exchange ? RENAME_EXCHANGE : 0);
    }

    Fd m_replaced;
    std::size_t m_count = 0;
    std::vector<Step> m_steps;
};

void merge(int staging, const std::string& name, int target) {
    ConflictCheck(target).run(open_subdirectory(staging, name, true));
    Merge merge(staging, target);
    try {
        merge.run(open_subdirectory(staging, name, true));
    } catch (...) {
        merge.undo();
        throw;
    }
}

} // namespace

void publish_tree(int staging, const std::string& name, const TreeTarget& target) {
    if (target.name.empty()) return merge(staging, name, target.directory.get());
    const auto staged = look(staging, name);
    const auto there = look(target.directory.get(), target.name);
    const bool is_directory = staged && S_ISDIR(staged->st_mode);
    if (there) refuse_special(there->st_mode, target.name);
    if (there && is_directory != S_ISDIR(there->st_mode)) {
        throw Error(ErrorCode::conflict, quoted(target.name) + (is_directory ? " at the target is no directory" : " at the target is a directory"));
    }
    if (!there || !is_directory) return move(staging, name, target.directory.get(), target.name, 0);
    const Fd directory(::openat(target.directory.get(), target.name.c_str(), k_path_directory));
    if (!directory) throw errno_error("cannot open directory " + quoted(target.name));
    merge(staging, name, directory.get());
}

} // namespace sandbox
