// SPDX-License-Identifier: Apache-2.0
#include "util/tree_walk.hpp"

#include "util/error.hpp"
#include "util/text.hpp"
#include "util/tree_record.hpp"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

namespace sandbox {
namespace {

// Far below the usual limit of 1024 descriptors, with two stacks at work in a merge.
constexpr std::size_t k_open_levels = 64;
constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t k_list_buffer = 32 << 10;

Error failure(std::string_view what, std::string_view name) {
    return errno_error(std::string(what) + " " + quoted(name));
}

unsigned format_of(int directory, const char* name, unsigned char type) {
    if (type != DT_UNKNOWN) return DTTOIF(type);
    struct stat info {};
    // Gone since it was listed: not a failure of the listing.
    if (::fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return 0;
    return info.st_mode & S_IFMT;
}

class Remover final : public TreeWalk {
  protected:
    bool visit(int directory, const std::string& name, unsigned format) override {
        if (format == S_IFDIR) return true;
        if (::unlinkat(directory, name.c_str(), 0) != 0 && errno != ENOENT) throw failure("cannot remove", name);
        return false;
    }
    Fd enter(int directory, const std::string& name) override { return open_subdirectory(directory, name, true); }
    void leave(int directory, const std::string& name) override {
        if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) throw failure("cannot remove", name);
    }
};

} // namespace

void DirectoryStack::push(Fd directory, std::string_view name) {
    // The deepest tree that a stream may hold lies below its root, in a staging directory.
    if (m_levels.size() > k_tree_max_depth + 2) throw Error(ErrorCode::failed, "directories are nested too deep");
    struct stat info {};
    if (::fstat(directory.get(), &info) != 0) throw failure("cannot read directory", name);
    const std::size_t before = m_path.size();
    if (!m_levels.empty()) {
        if (!m_path.empty()) m_path += '/';
        m_path += name;
    }
    m_levels.push_back({std::move(directory), info.st_dev, info.st_ino, before});
    if (m_levels.size() > k_open_levels) m_levels[m_levels.size() - 1 - k_open_levels].directory.reset();
}

Fd DirectoryStack::pop() {
    Fd child = std::move(m_levels.back().directory);
    m_path.resize(m_levels.back().parent_path_length);
    m_levels.pop_back();
    if (!m_levels.empty() && !m_levels.back().directory) open_top_again(child.get());
    return child;
}

void DirectoryStack::open_top_again(int child) {
    Level& level = m_levels.back();
    Fd directory(::openat(child, "..", k_directory_flags));
    if (!directory && errno == EACCES) directory.reset(::openat(child, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat info {};
    if (!directory || ::fstat(directory.get(), &info) != 0) throw failure("cannot go back to", m_path);
    if (info.st_dev != level.device || info.st_ino != level.inode) {
        throw Error(ErrorCode::failed, quoted(m_path) + " was moved while it was copied");
    }
    level.directory = std::move(directory);
}

std::string_view DirectoryStack::name() const {
    const std::string_view path = m_path;
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

void list_directory(int directory, const std::function<void(const std::string&, unsigned)>& each) {
    list_directory_while(directory, [&](const std::string& name, unsigned format) {
        each(name, format);
        return true;
    });
}

void list_directory_while(int directory, const std::function<bool(const std::string&, unsigned)>& each) {
    if (::lseek(directory, 0, SEEK_SET) < 0) throw errno_error("cannot list a directory");
    const std::unique_ptr<char[]> buffer(new char[k_list_buffer]);
    for (;;) {
        const ssize_t count = ::getdents64(directory, buffer.get(), k_list_buffer);
        if (count < 0) throw errno_error("cannot list a directory");
        if (count == 0) return;
        for (ssize_t at = 0; at < count;) {
            const auto* entry = reinterpret_cast<const dirent64*>(buffer.get() + at);
            at += entry->d_reclen;
            const std::string name = entry->d_name;
            if (name == "." || name == "..") continue;
            const unsigned format = format_of(directory, name.c_str(), entry->d_type);
            if (format != 0 && !each(name, format)) return;
        }
    }
}

Fd open_subdirectory(int directory, const std::string& name, bool force) {
    Fd child = try_subdirectory(directory, name, force);
    if (!child) throw failure("cannot open directory", name);
    return child;
}

Fd try_subdirectory(int directory, const std::string& name, bool force) {
    Fd child(::openat(directory, name.c_str(), k_directory_flags));
    if (!child && errno == EACCES && force) {
        if (::fchmodat(directory, name.c_str(), S_IRWXU, 0) == 0) child.reset(::openat(directory, name.c_str(), k_directory_flags));
        else errno = EACCES; // it is another user's
    }
    if (!child) return {};
    // Readable but not writable or searchable: what is in it could not be moved or removed.
    if (force && ::faccessat(child.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) ::fchmod(child.get(), S_IRWXU);
    return child;
}

void TreeWalk::run(Fd root) {
    m_stack.push(std::move(root), "");
    list_top();
    for (;;) {
        if (!m_pending.back().empty()) {
            const std::string name = std::move(m_pending.back().back());
            m_pending.back().pop_back();
            Fd child = enter(m_stack.top(), name);
            if (!child) continue;
            m_stack.push(std::move(child), name);
            list_top();
            continue;
        }
        m_pending.pop_back();
        const std::string name(m_stack.name());
        m_stack.pop();
        if (m_pending.empty()) return;
        leave(m_stack.top(), name);
    }
}

void TreeWalk::list_top() {
    auto& pending = m_pending.emplace_back();
    const int directory = m_stack.top();
    list_directory(directory, [&](const std::string& name, unsigned format) {
        if (visit(directory, name, format)) pending.push_back(name);
    });
}

Fd TreeWalk::enter(int directory, const std::string& name) { return open_subdirectory(directory, name); }
void TreeWalk::leave(int, const std::string&) {}

std::string TreeWalk::path_of(std::string_view name) const {
    return m_stack.path().empty() ? std::string(name) : m_stack.path() + "/" + std::string(name);
}

void remove_contents(int directory) {
    Fd root(::openat(directory, ".", k_directory_flags));
    if (!root) throw errno_error("cannot list a directory");
    Remover().run(std::move(root));
}

void remove_tree_at(int directory, const std::string& name) {
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return;
    if (errno != EISDIR) throw failure("cannot remove", name);
    Remover().run(open_subdirectory(directory, name, true));
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) throw failure("cannot remove", name);
}

Fd open_directory_below(int root, std::string_view path) {
    Fd directory(::openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    while (directory && !path.empty()) {
        const auto slash = path.find('/');
        const std::string name(path.substr(0, slash));
        directory.reset(::openat(directory.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    }
    return directory;
}

} // namespace sandbox
