// SPDX-License-Identifier: Apache-2.0
#include "util/tree_writer.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
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

timespec time_of(const auto& record) {
    return {static_cast<time_t>(record.mtime_seconds), static_cast<long>(record.mtime_nanoseconds)};
}

} // namespace

void TreeFile::create(int directory, const std::string& name, const std::string& shown) {
    m_shown = shown;
    m_position = 0;
    m_file.reset(::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (m_file) return;
    if (errno == EEXIST) throw Error(ErrorCode::protocol_error, "malformed file tree: " + quoted(shown) + " comes twice");
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

// Parents come before what is in them and are never come back to, so each one is on the way down to the last.
void TreeWriter::go_to(std::string_view parent) {
    while (!m_stack.empty() && m_stack.path() != parent) finish_directory();
    if (m_stack.empty()) {
        throw Error(ErrorCode::protocol_error, "malformed file tree: " + quoted(m_record.path) + " is in no directory of it");
    }
}

void TreeWriter::make(int directory, const std::string& name, const TreeRecord& record) {
    if (record.type == TreeType::directory) return make_directory(directory, name, record);
    ++m_counts.files;
    if (record.type == TreeType::file) return m_file.create(directory, name, record.path);
    if (::symlinkat(record.link.c_str(), directory, name.c_str()) != 0) {
        if (errno == EEXIST) throw Error(ErrorCode::protocol_error, "malformed file tree: " + quoted(record.path) + " comes twice");
        throw failure("cannot make link", record.path);
    }
    const timespec times[2] = {{0, UTIME_OMIT}, time_of(record)};
    if (::utimensat(directory, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) throw failure("cannot set the time of", record.path);
}

void TreeWriter::make_directory(int directory, const std::string& name, const TreeRecord& record) {
    if (::mkdirat(directory, name.c_str(), S_IRWXU) != 0) {
        if (errno == EEXIST) throw Error(ErrorCode::protocol_error, "malformed file tree: " + quoted(record.path) + " comes twice");
        throw failure("cannot make directory", record.path);
    }
    Fd made(::openat(directory, name.c_str(), k_directory_flags));
    if (!made) throw failure("cannot open directory", record.path);
    m_stack.push(std::move(made), record.path.empty() ? "" : name);
    m_metadata.push_back({record.mode & m_mode_mask, record.mtime_seconds, record.mtime_nanoseconds});
}

void TreeWriter::finish_directory() {
    const std::string path = m_stack.path();
    const Fd directory = m_stack.pop();
    const Metadata metadata = m_metadata.back();
    m_metadata.pop_back();
    if (::fchmod(directory.get(), metadata.mode) != 0) throw failure("cannot set the mode of", path);
    const timespec times[2] = {{0, UTIME_OMIT}, time_of(metadata)};
    if (::futimens(directory.get(), times) != 0) throw failure("cannot set the time of", path);
}

void TreeWriter::on_data(std::uint64_t offset, std::string_view bytes) {
    m_file.write(offset, bytes);
    m_counts.bytes += bytes.size();
}

void TreeWriter::on_file_end() { m_file.finish(m_record, m_record.mode & m_mode_mask, true); }

TreeCounts TreeWriter::publish() {
    while (!m_stack.empty()) finish_directory();
    publish_tree(m_staging.fd(), k_root_name, m_target);
    m_staging = {};
    return m_counts;
}

} // namespace sandbox
