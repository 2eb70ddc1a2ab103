// SPDX-License-Identifier: Apache-2.0
#include "util/tree_reader.hpp"

#include "util/error.hpp"
#include "util/text.hpp"
#include "util/tree_walk.hpp"
#include "util/tree_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <linux/limits.h>
#include <map>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sandbox {
namespace {

// A file up to this size is read before its header is written, so that the header's size is what was really there.
constexpr std::size_t k_small_file = 64 << 10;
// Files of /proc and /sys say nothing true about their size; this much of one is read.
constexpr std::size_t k_max_unsized = 4 << 20;
// O_NONBLOCK: if the name became a named pipe since it was looked at, open must not wait for a writer.
constexpr int k_file_flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

TreeRecord record_of(const struct stat& info, TreeType type, std::uint32_t mode_mask) {
    TreeRecord record;
    record.type = type;
    record.mode = info.st_mode & 07777 & mode_mask;
    record.mtime_seconds = info.st_mtim.tv_sec;
    record.mtime_nanoseconds = static_cast<std::uint32_t>(info.st_mtim.tv_nsec);
    if (type == TreeType::file) record.size = static_cast<std::uint64_t>(info.st_size);
    return record;
}

// The user's own attributes of an open file or directory; security.capability and the like stay behind.
std::vector<TreeXattr> read_xattrs(int fd, std::string_view shown) {
    std::string names(256, '\0');
    ssize_t length = ::flistxattr(fd, names.data(), names.size());
    while (length < 0 && errno == ERANGE && names.size() < k_tree_max_xattrs) {
        names.resize(names.size() * 4);
        length = ::flistxattr(fd, names.data(), names.size());
    }
    if (length < 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) return {};
    if (length < 0) throw path_error("cannot read the extended attributes of", shown);
    std::vector<TreeXattr> found;
    std::size_t total = 0;
    for (std::size_t at = 0; at < static_cast<std::size_t>(length);) {
        const std::string name = names.c_str() + at;
        at += name.size() + 1;
        if (!is_carried_xattr(name)) continue;
        std::string value(XATTR_SIZE_MAX, '\0');
        const ssize_t size = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
        if (size < 0 && errno == ENODATA) continue; // removed since it was listed
        if (size < 0) throw path_error("cannot read the extended attributes of", shown);
        value.resize(static_cast<std::size_t>(size));
        total += name.size() + value.size() + 8; // with both lengths, as the stream bounds it
        if (total > k_tree_max_xattrs) throw Error(ErrorCode::limit_exceeded, quoted(shown) + " has too many extended attributes");
        found.push_back({name, std::move(value)});
    }
    return found;
}

std::string read_link(int directory, const std::string& name, std::string_view shown) {
    std::string target(k_tree_max_link + 1, '\0');
    const ssize_t count = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    if (count < 0) throw path_error("cannot read link", shown);
    target.resize(static_cast<std::size_t>(count));
    return target;
}

[[noreturn]] void throw_shorter(std::string_view shown) {
    throw Error(ErrorCode::failed, quoted(shown) + " became shorter while it was copied");
}

// Content of one open file, in whichever of the three ways fits it.
class FileReader {
  public:
    FileReader(TreeEncoder& out, std::optional<std::uint64_t> max_file) : m_out(out), m_max_file(max_file) {}

    // Returns how much content went, holes left out: what the other end counts as well.
    std::uint64_t read(int fd, TreeRecord& record, std::uint64_t blocks, std::string_view shown) {
        if (m_max_file && record.size > *m_max_file) throw_file_too_large(shown, record.size, *m_max_file);
        if (record.size <= k_small_file) return read_small(fd, record, shown);
        record.sparse = blocks * 512 < record.size && ::lseek(fd, 0, SEEK_HOLE) < static_cast<off_t>(record.size);
        m_out.record(record);
        if (record.sparse) return copy_extents(fd, record.size, shown);
        copy_range(fd, 0, record.size, shown);
        return record.size;
    }

  private:
    std::uint64_t read_small(int fd, TreeRecord& record, std::string_view shown) {
        const bool is_empty = record.size == 0;
        m_content.resize(is_empty ? k_small_file : static_cast<std::size_t>(record.size));
        std::size_t used = 0;
        while (const std::size_t count = read_at(fd, used, m_content.size() - used, shown)) {
            used += count;
            if (used < m_content.size()) continue;
            if (!is_empty) break;
            if (used >= k_max_unsized) throw Error(ErrorCode::limit_exceeded, quoted(shown) + " has no size and no end");
            m_content.resize(used * 2);
        }
        if (m_max_file && used > *m_max_file) throw_file_too_large(shown, used, *m_max_file);
        record.size = used;
        m_out.record(record);
        m_out.bytes({m_content.data(), used});
        return used;
    }

    std::size_t read_at(int fd, std::size_t offset, std::size_t count, std::string_view shown) {
        for (;;) {
            const ssize_t got = ::read(fd, m_content.data() + offset, count);
            if (got >= 0) return static_cast<std::size_t>(got);
            if (errno != EINTR) throw path_error("cannot read", shown);
        }
    }

    // Exactly `length` bytes, whatever the file grows to meanwhile.
    void copy_range(int fd, std::uint64_t offset, std::uint64_t length, std::string_view shown) {
        while (length > 0) {
            const auto room = m_out.room();
            const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), length));
            const ssize_t got = ::pread(fd, room.data(), wanted, static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) throw path_error("cannot read", shown);
            if (got == 0) throw_shorter(shown);
            m_out.commit(static_cast<std::size_t>(got));
            offset += static_cast<std::uint64_t>(got);
            length -= static_cast<std::uint64_t>(got);
        }
    }

    std::uint64_t copy_extents(int fd, std::uint64_t size, std::string_view shown) {
        std::uint64_t at = 0;
        std::uint64_t copied = 0;
        while (at < size) {
            const off_t data = ::lseek(fd, static_cast<off_t>(at), SEEK_DATA);
            if (data < 0 && errno == ENXIO) break; // only a hole is left
            const off_t hole = data < 0 ? -1 : ::lseek(fd, data, SEEK_HOLE);
            if (hole < 0) throw path_error("cannot read", shown);
            if (static_cast<std::uint64_t>(data) >= size) break;
            const auto end = std::min(static_cast<std::uint64_t>(hole), size);
            m_out.extent(static_cast<std::uint64_t>(data), end - static_cast<std::uint64_t>(data));
            copy_range(fd, static_cast<std::uint64_t>(data), end - static_cast<std::uint64_t>(data), shown);
            copied += end - static_cast<std::uint64_t>(data);
            at = end;
        }
        // The end of a file that became shorter looks like one more hole.
        struct stat info {};
        if (::fstat(fd, &info) != 0) throw path_error("cannot read", shown);
        if (static_cast<std::uint64_t>(info.st_size) < size) throw_shorter(shown);
        m_out.extent(size, 0);
        return copied;
    }

    TreeEncoder& m_out;
    std::optional<std::uint64_t> m_max_file;
    std::string m_content;
};

class TreeReader final : public TreeWalk {
  public:
    TreeReader(const TreeReadOptions& options, TreeEncoder& out, std::string name)
        : m_options(options), m_out(out), m_files(out, options.max_file), m_name(std::move(name)) {}

    TreeCounts counts;

    void read_file(int fd, TreeRecord& record, std::uint64_t blocks, std::string_view shown) {
        counts.bytes += m_files.read(fd, record, blocks, shown);
        ++counts.files;
    }

  protected:
    bool visit(int directory, const std::string& name, unsigned format) override {
        std::string path = path_of(name);
        if (m_options.exclude && m_options.exclude(path, format == S_IFDIR)) return false;
        // An unfinished copy is part of no tree; and one into the directory that is read would not end.
        if (format == S_IFDIR) return !is_staging_name(name);
        if (format == S_IFREG) send_file(directory, name, std::move(path));
        else if (format == S_IFLNK) send_link(directory, name, std::move(path));
        else if (format == S_IFSOCK || format == S_IFIFO) ++counts.skipped;
        else throw_device(path);
        return false;
    }

    Fd enter(int directory, const std::string& name) override {
        Fd child(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        const std::string path = path_of(name);
        struct stat info {};
        if (!child && errno == ENOENT) return child; // removed since it was listed
        if (!child || ::fstat(child.get(), &info) != 0) throw path_error("cannot read directory", shown(path));
        TreeRecord record = record_of(info, TreeType::directory, m_options.mode_mask);
        record.path = path;
        if (m_options.links_and_xattrs) record.xattrs = read_xattrs(child.get(), shown(path));
        m_out.record(record);
        return child;
    }

  private:
    std::string shown(std::string_view path) const { return m_name + "/" + std::string(path); }

    [[noreturn]] void throw_device(std::string_view path) const {
        throw Error(ErrorCode::failed, "cannot copy device " + quoted(shown(path)));
    }

    void send_file(int directory, const std::string& name, std::string path) {
        const Fd file(::openat(directory, name.c_str(), k_file_flags));
        struct stat info {};
        if (!file && errno == ENOENT) return;
        if (!file || ::fstat(file.get(), &info) != 0) throw path_error("cannot read", shown(path));
        if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) {
            ++counts.skipped;
            return;
        }
        // A listing tells what is below a mount; containers hide files of /proc under a device.
        if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) throw_device(path);
        if (!S_ISREG(info.st_mode)) throw Error(ErrorCode::failed, quoted(shown(path)) + " was replaced while it was copied");
        TreeRecord record = record_of(info, TreeType::file, m_options.mode_mask);
        record.path = std::move(path);
        if (send_hard_link(info, record)) return;
        if (m_options.links_and_xattrs) record.xattrs = read_xattrs(file.get(), shown(record.path));
        read_file(file.get(), record, static_cast<std::uint64_t>(info.st_blocks), record.path);
    }

    // The second and later names of a file go as links to the first one.
    bool send_hard_link(const struct stat& info, TreeRecord& record) {
        if (info.st_nlink < 2 || !m_options.links_and_xattrs) return false;
        const auto [first, is_new] = m_linked.try_emplace({info.st_dev, info.st_ino}, record.path);
        if (is_new) return false;
        record.type = TreeType::hard_link;
        record.link = first->second;
        record.size = 0;
        m_out.record(record);
        ++counts.files;
        return true;
    }

    void send_link(int directory, const std::string& name, std::string path) {
        struct stat info {};
        if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
            if (errno == ENOENT) return;
            throw path_error("cannot read", shown(path));
        }
        TreeRecord record = record_of(info, TreeType::symlink, m_options.mode_mask);
        record.link = read_link(directory, name, path);
        record.path = std::move(path);
        m_out.record(record);
        ++counts.files;
    }

    const TreeReadOptions& m_options;
    TreeEncoder& m_out;
    FileReader m_files;
    std::string m_name;
    std::map<std::pair<dev_t, ino_t>, std::string> m_linked; // paths of files with more than one name
};

} // namespace

TreeSource open_tree_source(const PathBase& base, const std::string& path, bool follow_link) {
    TreeSource source;
    source.name = path;
    const int no_follow = follow_link ? 0 : O_NOFOLLOW;
    const Fd found = base.open(path, O_PATH | (must_be_directory(path) ? O_DIRECTORY : no_follow));
    struct stat info {};
    if (!found && errno == ENOTDIR && means_contents(path)) throw Error(ErrorCode::conflict, quoted(path) + " means the contents of a directory, and that is none");
    if (!found || ::fstat(found.get(), &info) != 0) throw path_error("cannot open", path);
    if (S_ISLNK(info.st_mode)) {
        source.type = TreeType::symlink;
        source.root = record_of(info, source.type, 07777);
        source.root.link = read_link(found.get(), "", path);
        return source;
    }
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        throw Error(ErrorCode::failed, "cannot copy " + quoted(path) + ": it is a device, a socket or a named pipe");
    }
    source.type = S_ISDIR(info.st_mode) ? TreeType::directory : TreeType::file;
    source.fd = source.type == TreeType::directory
                    ? Fd(::openat(found.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
                    : base.open(path, (k_file_flags & ~O_NOFOLLOW) | no_follow);
    if (!source.fd || ::fstat(source.fd.get(), &info) != 0) throw path_error("cannot open", path);
    if (source.type == TreeType::file && !S_ISREG(info.st_mode)) {
        throw Error(ErrorCode::failed, quoted(path) + " was replaced while it was opened");
    }
    source.root = record_of(info, source.type, 07777);
    return source;
}

TreeCounts read_tree(TreeSource source, const TreeReadOptions& options, TreeEncoder& out) {
    TreeReader reader(options, out, source.name);
    source.root.mode &= options.mode_mask;
    if (options.links_and_xattrs && source.type != TreeType::symlink) source.root.xattrs = read_xattrs(source.fd.get(), source.name);
    if (source.type == TreeType::file) {
        struct stat info {};
        if (::fstat(source.fd.get(), &info) != 0) throw path_error("cannot read", source.name);
        reader.read_file(source.fd.get(), source.root, static_cast<std::uint64_t>(info.st_blocks), source.name);
    } else {
        out.record(source.root);
        if (source.type == TreeType::directory) reader.run(std::move(source.fd));
        else ++reader.counts.files;
    }
    return reader.counts;
}

} // namespace sandbox
