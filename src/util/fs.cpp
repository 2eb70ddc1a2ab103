// SPDX-License-Identifier: Apache-2.0
#include "util/fs.hpp"

#include "util/ending_signals.hpp"
#include "util/error.hpp"
#include "util/random.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox {
namespace {

constexpr std::chrono::milliseconds k_between_looks{5}; // at a lock that somebody holds

std::string temporary_beside(const std::string& name) {
    const auto slash = name.rfind('/');
    const std::string directory = slash == std::string::npos ? "" : name.substr(0, slash + 1);
    return directory + ".sandbox-tmp-" + random_hex(8);
}

// False with errno. By /proc, for AT_EMPTY_PATH wants a capability.
bool give_name(int file, int directory, const std::string& name) {
    const std::string unnamed = "/proc/self/fd/" + std::to_string(file);
    return ::linkat(AT_FDCWD, unnamed.c_str(), directory, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

// The file may have been removed by its last holder between our open and our lock; a lock on a file without a
// name excludes nobody.
bool is_still_named(int fd, const std::string& path) {
    struct stat held{};
    struct stat named{};
    return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

// False where somebody else holds it.
bool flock_file(int fd, int operation, const std::string& path) {
    int result = 0;
    do result = ::flock(fd, operation);
    while (result != 0 && errno == EINTR);
    if (result != 0 && errno == EWOULDBLOCK) return false;
    if (result != 0) throw errno_error("cannot lock " + path);
    return true;
}

std::optional<Fd> lock_file(const std::string& path) {
    for (;;) {
        Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!file) throw errno_error("cannot open lock " + path);
        if (!flock_file(file.get(), LOCK_EX | LOCK_NB, path)) return std::nullopt;
        if (is_still_named(file.get(), path)) return file;
    }
}

std::string read_whole(int fd, const std::string& path, std::size_t limit) {
    try {
        return read_all(fd, limit);
    } catch (Error& error) {
        error.context("cannot read " + path);
        throw;
    }
}

} // namespace

AtomicFile::AtomicFile(int directory_fd, std::string name, mode_t mode)
    : m_directory(directory_fd), m_name(std::move(name)), m_temporary(temporary_beside(m_name)) {
    // Without a name, nothing is left where this process is killed. Not every file system can (open(2), O_TMPFILE).
    const auto slash = m_name.rfind('/');
    const std::string directory_name = slash == std::string::npos ? "." : m_name.substr(0, slash + 1);
    m_file.reset(::openat(m_directory, directory_name.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (m_file) {
        m_temporary.clear();
        if (::fchmod(m_file.get(), mode) != 0) throw errno_error("cannot set the mode of " + m_name);
        return;
    }
    m_file.reset(::openat(m_directory, m_temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!m_file) throw errno_error("cannot write " + m_name);
    if (::fchmod(m_file.get(), mode) == 0) return;
    const Error error = errno_error("cannot set the mode of " + m_name);
    ::unlinkat(m_directory, m_temporary.c_str(), 0); // what is not constructed has no destructor
    throw error;
}

AtomicFile::~AtomicFile() {
    if (!m_temporary.empty()) ::unlinkat(m_directory, m_temporary.c_str(), 0);
}

void AtomicFile::publish() {
    if (m_temporary.empty()) {
        // linkat(2) replaces nothing, so what is there already is replaced by a rename.
        if (give_name(m_file.get(), m_directory, m_name)) return;
        const std::string temporary = temporary_beside(m_name);
        if (errno != EEXIST || !give_name(m_file.get(), m_directory, temporary)) throw errno_error("cannot write " + m_name);
        m_temporary = temporary;
    }
    if (::renameat(m_directory, m_temporary.c_str(), m_directory, m_name.c_str()) != 0) {
        throw errno_error("cannot replace " + m_name);
    }
    m_temporary.clear();
}

FileLock FileLock::acquire(const std::string& path) {
    for (;;) {
        if (auto lock = try_acquire(path)) return std::move(*lock);
        // flock(2) itself would wait through every signal that is held back.
        wait_unless_ended(k_between_looks);
    }
}

std::optional<FileLock> FileLock::try_acquire(const std::string& path) {
    auto file = lock_file(path);
    if (!file) return std::nullopt;
    return FileLock(std::move(*file), path);
}

bool FileLock::is_held(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file && errno == ENOENT) return false;
    if (!file) throw errno_error("cannot open lock " + path);
    // Shared, so that two who ask do not take each other for the holder.
    return !flock_file(file.get(), LOCK_SH | LOCK_NB, path);
}

void FileLock::remove_file() { ::unlink(m_path.c_str()); }

TempDir::TempDir() {
    const char* variable = std::getenv("TMPDIR");
    const std::string base = variable != nullptr && *variable != '\0' ? variable : "/tmp";
    const Fd parent(::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!parent) throw errno_error("cannot write in " + base);
    m_directory = StagingDirectory(parent.get(), "in " + base);
    m_path = base + "/" + m_directory.name();
}

std::optional<std::string> read_file(const std::string& path, std::size_t limit) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) return std::nullopt;
    if (!file) throw errno_error("cannot read " + path);
    return read_whole(file.get(), path, limit);
}

Fd open_regular_file(const std::string& path) {
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    // What open(2) refuses (a socket, a device without a driver) is no regular file either.
    if (!file && errno != ENXIO && errno != ENODEV) throw errno_error("cannot open " + sandbox::quoted(path));
    struct stat info{};
    if (file && ::fstat(file.get(), &info) != 0) throw errno_error("cannot open " + sandbox::quoted(path));
    if (!S_ISREG(info.st_mode)) throw Error(ErrorCode::failed, sandbox::quoted(path) + " is not a regular file");
    return file;
}

std::optional<std::string> read_regular_file(const std::string& path, std::size_t limit) {
    try {
        return read_whole(open_regular_file(path).get(), path, limit);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::not_found) return std::nullopt;
        throw;
    }
}

void make_directories(const std::string& path, mode_t mode) {
    for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        const std::string part = path.substr(0, slash);
        if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) throw errno_error("cannot make directory " + part);
        if (slash == std::string::npos) return;
    }
}

void remove_tree(const std::string& path) {
    std::error_code failure;
    std::filesystem::remove_all(path, failure);
    if (failure) throw errno_error("cannot remove " + path, failure.value());
}

} // namespace sandbox
