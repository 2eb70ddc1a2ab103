// SPDX-License-Identifier: Apache-2.0
#include "util/tree_writer.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace sandbox {
namespace {

constexpr const char* k_root_name = "root";
constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Error failure(std::string_view what, std::string_view path) {
    const int number = errno;
    if (path.empty()) return errno_error(what, number);
    return errno_error(std::string(what) + " " + quoted(path), number);
}

Error malformed(std::string_view path, std::string_view what) {
    return {ErrorCode::protocol_error, "malformed file tree: " + quoted(path) + " " + std::string(what)};
}

timespec time_of(const auto& record) {
    return {static_cast<time_t>(record.mtime_seconds), static_cast<long>(record.mtime_nanoseconds)};
}

} // namespace

void set_xattrs(int fd, const TreeRecord& record) {
    for (const auto& xattr : record.xattrs) {
        if (::fsetxattr(fd, xattr.name.c_str(), xattr.value.data(), xattr.value.size(), 0) == 0) continue;
        if (errno == EOPNOTSUPP) return;
        throw failure("cannot set the extended attributes of", record.path);
    }
}

void TreeFile::create(int directory, const std::string& name, const std::string& shown) {
    m_shown = shown;
    m_position = 0;
    m_file.reset(::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (m_file) return;
    if (errno == EEXIST) throw malformed(shown, "comes twice");
    throw failure("cannot write", shown);
}

void TreeFile::write(std::uint64_t offset, std::string_view bytes) {
    if (offset != m_position && ::lseek(m_file.get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
        throw failure("cannot write", m_shown);
    }
    m_position = offset + bytes.size();
    while (!bytes.empty()) {
        const ssize_t count = ::write(m_file.get(), bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw failure("cannot write", m_shown);
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
}

void TreeFile::finish(const TreeRecord& record, std::uint32_t mode, bool set_time) {
    const int fd = m_file.get();
    if (m_position != record.size && ::ftruncate(fd, static_cast<off_t>(record.size)) != 0) throw failure("cannot write", m_shown);
    set_xattrs(fd, record);
    if (::fchmod(fd, mode) != 0) throw failure("cannot set the mode of", m_shown);
    const timespec times[2] = {{0, UTIME_OMIT}, time_of(record)};
    if (set_time && ::futimens(fd, times) != 0) throw failure("cannot set the time of", m_shown);
    // Some file systems (network ones, quotas) say only now that there was no room. Released first: it is closed whatever it says.
    if (::close(m_file.release()) != 0) throw failure("cannot write", m_shown);
}

void TreeWriter::start(const TreeRecord& root) {
    m_target = m_resolve(root.type);
    // A tree that merges into a directory is staged inside it: the directory may be a mount point.
    Fd merged;
    if (root.type == TreeType::directory && !m_target.name.empty()) {
        merged.reset(::openat(m_target.directory.get(), m_target.name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    m_staging = StagingDirectory(merged ? merged.get() : m_target.directory.get());
}

void TreeWriter::on_record(const TreeRecord& record) {
    m_record = record;
    if (!m_staging) {
        start(record);
        make(m_staging.fd(), k_root_name, record);
        return;
    }
    const std::string_view path = record.path;
    const auto slash = path.rfind('/');
    go_to(slash == std::string_view::npos ? "" : path.substr(0, slash));
    make(m_stack.top(), std::string(path.substr(slash == std::string_view::npos ? 0 : slash + 1)), record);
}

// In the order of a walk each parent is on the way down to the last entry, or the stream is malformed.
void TreeWriter::go_to(std::string_view parent) {
    const auto is_at_or_below = [&](std::string_view above) {
        return parent == above || above.empty() || (parent.starts_with(above) && parent[above.size()] == '/');
    };
    const auto is_reached = [&](const std::string& path) { return m_order == TreeOrder::any ? is_at_or_below(path) : path == parent; };
    while (!m_stack.empty() && !is_reached(m_stack.path())) finish_directory();
    if (m_stack.empty()) throw malformed(m_record.path, "is in no directory of it");
    if (m_stack.path() == parent) return;
    go_down(m_stack.path().empty() ? parent : parent.substr(m_stack.path().size() + 1));
}

void TreeWriter::go_down(std::string_view below) {
    while (!below.empty()) {
        const auto slash = below.find('/');
        enter_directory(m_stack.top(), std::string(below.substr(0, slash)), nullptr);
        below.remove_prefix(slash == std::string_view::npos ? below.size() : slash + 1);
    }
}

// Whether the name is free for a new entry: in an archive one that came earlier gives way, unless it is a directory.
bool TreeWriter::takes_name_of_earlier(int directory, const std::string& name) const {
    return m_order == TreeOrder::any && errno == EEXIST && ::unlinkat(directory, name.c_str(), 0) == 0;
}

void TreeWriter::make(int directory, const std::string& name, const TreeRecord& record) {
    if (record.type == TreeType::directory) return enter_directory(directory, name, &record);
    ++m_counts.files;
    switch (record.type) {
    case TreeType::symlink: return make_symlink(directory, name, record);
    case TreeType::hard_link: return make_hard_link(directory, name, record);
    default: break;
    }
    if (m_order == TreeOrder::any && ::unlinkat(directory, name.c_str(), 0) != 0 && errno != ENOENT) {
        throw malformed(record.path, "comes twice");
    }
    m_file.create(directory, name, record.path);
}

void TreeWriter::make_symlink(int directory, const std::string& name, const TreeRecord& record) {
    const auto link = [&] { return ::symlinkat(record.link.c_str(), directory, name.c_str()) == 0; };
    if (!link() && !(takes_name_of_earlier(directory, name) && link())) {
        if (errno == EEXIST || errno == EISDIR) throw malformed(record.path, "comes twice");
        throw failure("cannot make link", record.path);
    }
    const timespec times[2] = {{0, UTIME_OMIT}, time_of(record)};
    if (::utimensat(directory, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) throw failure("cannot set the time of", record.path);
}

// Found below the staged root, one component at a time and through no link, so it is a file that this very stream made.
void TreeWriter::make_hard_link(int directory, const std::string& name, const TreeRecord& record) {
    const auto slash = record.link.rfind('/');
    const std::string target = slash == std::string::npos ? record.link : record.link.substr(slash + 1);
    const std::string parent = k_root_name + (slash == std::string::npos ? "" : "/" + record.link.substr(0, slash));
    const Fd from = open_directory_below(m_staging.fd(), parent);
    struct stat info {};
    const bool is_there = from && ::fstatat(from.get(), target.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_there && errno == EACCES) throw failure("cannot look at", record.link);
    if (!is_there || !S_ISREG(info.st_mode)) throw malformed(record.path, "is a link to no file that came before it");
    if (record.link == record.path) return;
    const auto link = [&] { return ::linkat(from.get(), target.c_str(), directory, name.c_str(), 0) == 0; };
    if (link() || (takes_name_of_earlier(directory, name) && link())) return;
    if (errno == EEXIST || errno == EISDIR) throw malformed(record.path, "comes twice");
    throw failure("cannot make link", record.path);
}

// Makes it, or comes back to it. Without a record it is one that is needed for what is in it.
void TreeWriter::enter_directory(int directory, const std::string& name, const TreeRecord* record) {
    bool is_new = ::mkdirat(directory, name.c_str(), S_IRWXU) == 0;
    if (!is_new && errno == EEXIST && m_order == TreeOrder::parents_first) throw malformed(m_record.path, "comes twice");
    if (!is_new && record != nullptr && takes_name_of_earlier(directory, name)) is_new = ::mkdirat(directory, name.c_str(), S_IRWXU) == 0;
    if (!is_new && errno != EEXIST && errno != EISDIR) throw failure("cannot make directory", m_record.path);
    Fd opened(::openat(directory, name.c_str(), k_directory_flags));
    if (!opened && errno == EACCES && !is_new) opened = open_subdirectory(directory, name, true);
    if (!opened && (errno == ENOTDIR || errno == ELOOP)) throw malformed(m_record.path, "is below something that is no directory");
    if (!opened) throw failure("cannot open directory", m_record.path);
    if (!is_new && ::fchmod(opened.get(), S_IRWXU) != 0) throw failure("cannot write in directory", m_record.path);
    m_stack.push(std::move(opened), name);
    const auto known = m_finished.find(m_stack.path());
    Metadata metadata = known == m_finished.end() ? Metadata{} : known->second;
    if (record != nullptr) {
        metadata = {record->mode & m_mode_mask, record->mtime_seconds, record->mtime_nanoseconds, true};
        set_xattrs(m_stack.top(), *record);
    }
    m_metadata.push_back(metadata);
}

void TreeWriter::finish_directory() {
    const std::string path = m_stack.path();
    const Fd directory = m_stack.pop();
    const Metadata metadata = m_metadata.back();
    m_metadata.pop_back();
    if (::fchmod(directory.get(), metadata.mode) != 0) throw failure("cannot set the mode of", path);
    const timespec times[2] = {{0, UTIME_OMIT}, time_of(metadata)};
    if (metadata.has_time && ::futimens(directory.get(), times) != 0) throw failure("cannot set the time of", path);
    if (m_order == TreeOrder::any) m_finished.insert_or_assign(path, metadata);
}

void TreeWriter::on_data(std::uint64_t offset, std::string_view bytes) {
    m_file.write(offset, bytes);
    m_counts.bytes += bytes.size();
}

void TreeWriter::on_file_end() { m_file.finish(m_record, m_record.mode & m_mode_mask, true); }

TreeCounts TreeWriter::publish(const std::function<void(int, const std::string&)>& inspect) {
    while (!m_stack.empty()) finish_directory();
    if (inspect) inspect(m_staging.fd(), k_root_name);
    publish_tree(m_staging.fd(), k_root_name, m_target);
    m_staging = {};
    return m_counts;
}

} // namespace sandbox
