// SPDX-License-Identifier: Apache-2.0
#include "util/tree_path.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace sandbox {
namespace {

constexpr int k_path_directory = O_PATH | O_DIRECTORY | O_CLOEXEC;

// Cuts the next component off, past slashes and "." steps. Empty at the end.
std::string_view next_component(std::string_view& path) {
    for (;;) {
        const auto start = path.find_first_not_of('/');
        if (start == std::string_view::npos) return path = {};
        path.remove_prefix(start);
        const std::string_view component = path.substr(0, path.find('/'));
        path.remove_prefix(component.size());
        if (component != ".") return component;
    }
}

// Resolves a path as the kernel would, but for absolute links, which lead to where they say inside of the root, or out of it. Each component is
// opened in the directory before it, and ".." goes back to one that was opened: whatever is renamed meanwhile, nothing else is reached.
class ConfinedWalk {
  public:
    ConfinedWalk(int root, const std::string& name) : m_root(root), m_name(name) {}

    Fd open(const std::string& path, int flags) {
        bool is_inside = go_on_with(path);
        while (is_inside) {
            const std::string name(next_component(m_left));
            if (name.empty()) return Fd(::openat(top(), ".", flags | O_CLOEXEC));
            if (name == "..") {
                is_inside = !m_walked.empty();
                if (is_inside) m_walked.pop_back();
                continue;
            }
            const bool is_last = m_left.empty();
            const auto link = is_last && (flags & O_NOFOLLOW) != 0 ? std::string() : link_at(name);
            if (!link.empty()) {
                if (++m_links > k_max_links) return failed(ELOOP);
                is_inside = go_on_with(link + std::string(m_left));
                continue;
            }
            // Where it has become a link by now, this fails.
            if (is_last) return Fd(::openat(top(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
            Fd next(::openat(top(), name.c_str(), k_path_directory | O_NOFOLLOW));
            if (!next) return {};
            m_walked.push_back(std::move(next));
        }
        return failed(EXDEV);
    }

  private:
    static Fd failed(int error) {
        errno = error;
        return {};
    }

    int top() const { return m_walked.empty() ? m_root : m_walked.back().get(); }

    // Empty where it is none, or none that can be read.
    std::string link_at(const std::string& name) const {
        std::string target(k_tree_max_link + 1, '\0');
        const ssize_t length = ::readlinkat(top(), name.c_str(), target.data(), target.size());
        target.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
        return target;
    }

    // From here, or from the root. False where it leads out.
    bool go_on_with(const std::string& path) {
        const auto inside = path_in_directory(m_name, path);
        if (!inside) return false;
        if (path.starts_with('/')) m_walked.clear();
        m_path = *inside;
        m_left = m_path;
        return true;
    }

    int m_root;
    const std::string& m_name;
    std::vector<Fd> m_walked;
    std::string m_path;
    std::string_view m_left; // of it
    int m_links = 0;
};

Fd open_beneath(int root, const std::string& name, const std::string& path, int flags) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    // EAGAIN: something was renamed while the kernel looked, so that it could not be sure.
    for (int attempt = 0; attempt < 100; ++attempt) {
        const auto fd = static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) {
            // EPERM is what older seccomp profiles say instead of ENOSYS; and EXDEV is also said of an absolute link that leads to a place inside.
            if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == ENAMETOOLONG || errno == EXDEV)) break;
            return Fd(fd);
        }
    }
    return ConfinedWalk(root, name).open(path, flags);
}

Fd open_parent(const PathBase& base, const std::string& path, bool make) {
    const std::string parent = parent_of(path);
    Fd directory = base.open(parent, k_path_directory);
    if (!directory && errno == ENOENT && make) return make_directories_in(base, parent);
    if (!directory) throw path_error("cannot open directory", parent);
    return directory;
}

// What is at the target, a link taken as itself; 0 for nothing.
unsigned format_at(int directory, const std::string& name) {
    struct stat info {};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return info.st_mode & S_IFMT;
    if (errno != ENOENT) throw path_error("cannot look at", name);
    return 0;
}

void check_replaceable(unsigned format, TreeType root, std::string_view path) {
    if (format == 0) return;
    refuse_special(format, path);
    if (root == TreeType::directory && format != S_IFDIR) {
        throw Error(ErrorCode::conflict, "cannot copy a directory onto " + quoted(path) + ", which is no directory");
    }
    if (root != TreeType::directory && format == S_IFDIR) {
        throw Error(ErrorCode::conflict, "cannot replace directory " + quoted(path) + " with something that is none");
    }
}

} // namespace

Fd PathBase::open(const std::string& path, int flags) const {
    const std::string& named = path.empty() ? std::string(".") : path;
    if (!m_root) return Fd(::open(named.c_str(), flags | O_CLOEXEC));
    return open_beneath(m_root.get(), m_name, named, flags);
}

std::string PathBase::relative(std::string path) const {
    if (!m_root) return path;
    auto inside = path_in_directory(m_name, path);
    return inside ? std::move(*inside) : std::move(path);
}

std::optional<std::string> path_in_directory(std::string_view directory, std::string_view path) {
    if (!path.starts_with('/')) return std::string(path.empty() ? "." : path);
    for (auto wanted = next_component(directory); !wanted.empty(); wanted = next_component(directory)) {
        if (next_component(path) != wanted) return std::nullopt;
    }
    const auto start = path.find_first_not_of('/');
    return start == std::string_view::npos ? "." : std::string(path.substr(start));
}

Error path_error(std::string_view what, std::string_view path) {
    if (errno == EXDEV) return {ErrorCode::denied, quoted(path) + " leads out of the workdir; what lies elsewhere is named from the root"};
    // What stands on the way: a file, or a link that leads to itself.
    if (errno == ENOTDIR || errno == ELOOP) return {ErrorCode::conflict, std::string(what) + " " + quoted(path) + ": " + std::strerror(errno)};
    return errno_error(std::string(what) + " " + quoted(path));
}

void refuse_special(unsigned mode, std::string_view path) {
    if (S_ISREG(mode) || S_ISLNK(mode) || S_ISDIR(mode)) return;
    const char* what = S_ISFIFO(mode) ? "a named pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
    throw Error(ErrorCode::conflict, quoted(path) + " at the target is " + what + ", which is not replaced");
}

std::string_view without_end_slashes(std::string_view path) {
    for (;;) {
        if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
        else if (path.size() > 2 && path.ends_with("/.")) path.remove_suffix(1);
        else return path;
    }
}

std::string parent_of(std::string_view path) {
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos) return ".";
    return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

std::string base_name(std::string_view path) {
    path = without_end_slashes(path);
    const auto slash = path.rfind('/');
    if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
    return path == "." || path == ".." ? std::string() : std::string(path);
}

bool means_contents(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    return path == "." || path.ends_with("/.");
}

bool must_be_directory(std::string_view path) { return path.ends_with('/') || means_contents(path); }

Fd make_directories_in(const PathBase& base, const std::string& path) {
    Fd directory = base.open(path, k_path_directory);
    if (directory || errno != ENOENT) {
        if (!directory) throw path_error("cannot open directory", path);
        return directory;
    }
    const std::string stripped(without_end_slashes(path));
    const std::string name = base_name(stripped);
    if (name.empty() || parent_of(stripped) == stripped) throw path_error("cannot make directory", path);
    const Fd parent = make_directories_in(base, parent_of(stripped));
    if (::mkdirat(parent.get(), name.c_str(), 0755) != 0) {
        if (errno != EEXIST) throw path_error("cannot make directory", path);
    } else if (::fchmodat(parent.get(), name.c_str(), 0755, 0) != 0) {
        throw path_error("cannot set the mode of", path);
    }
    directory = base.open(path, k_path_directory);
    if (!directory) throw path_error("cannot open directory", path);
    return directory;
}

TreeTarget resolve_tree_target(const PathBase& base, const TreeTargetRequest& request, TreeType root) {
    const std::string path(without_end_slashes(request.path));
    if (Fd directory = base.open(path, k_path_directory)) {
        if (request.source_name.empty()) {
            check_replaceable(S_IFDIR, root, path);
            return {std::move(directory), ""};
        }
        check_replaceable(format_at(directory.get(), request.source_name), root, path + "/" + request.source_name);
        return {std::move(directory), request.source_name};
    }
    if (errno == EXDEV) throw path_error("cannot open", path);
    const std::string name = base_name(path);
    if (name.empty()) throw path_error("cannot open directory", path);
    Fd parent = open_parent(base, path, request.make_parents);
    const unsigned format = format_at(parent.get(), name);
    const bool wants_directory = request.must_be_directory || must_be_directory(request.path);
    if (format != 0 && wants_directory) throw Error(ErrorCode::conflict, quoted(path) + " is no directory");
    if (format == 0 && wants_directory && root != TreeType::directory) {
        throw Error(ErrorCode::not_found, "there is no directory " + quoted(path));
    }
    check_replaceable(format, root, path);
    return {std::move(parent), name};
}

} // namespace sandbox
