// SPDX-License-Identifier: Apache-2.0
#include "util/staging_directory.hpp"

#include "util/error.hpp"
#include "util/random.hpp"
#include "util/tree_walk.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace sandbox {
namespace {

constexpr std::string_view k_prefix = ".sandbox-cp-";
constexpr std::size_t k_random_bytes = 8;
constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// A copy cleans up after earlier ones in passing: never so much that it is what takes the time.
constexpr std::size_t k_max_swept = 16;
constexpr std::size_t k_max_listed = 100'000;
constexpr int k_max_attempts = 8;

bool is_at(int directory, int parent, const std::string& name) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(directory, &opened) == 0 && ::fstatat(parent, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// A directory as this program makes them, of this user. What another made under such a name, in /tmp for instance, is let be.
bool is_own(int directory) {
    struct stat info {};
    return ::fstat(directory, &info) == 0 && info.st_uid == ::geteuid() && (info.st_mode & 0777) == S_IRWXU;
}

// Its maker holds the lock as long as it lives. The contents go through the descriptor, so that what takes the name meanwhile
// is not touched, and the name only if what it names is empty.
void sweep(int parent, const std::string& name) noexcept {
    const Fd directory(::openat(parent, name.c_str(), k_directory_flags));
    if (!directory || !is_own(directory.get()) || ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) return;
    try {
        remove_contents(directory.get());
    } catch (const std::exception&) {
        return; // what cannot be removed keeps neither this copy nor the next name from going on
    }
    if (is_at(directory.get(), parent, name)) ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

// Removes what killed copies left in a directory.
void sweep_abandoned(int parent) noexcept {
    try {
        const Fd listed(::openat(parent, ".", k_directory_flags));
        if (!listed) return;
        std::vector<std::string> names;
        std::size_t seen = 0;
        list_directory_while(listed.get(), [&](const std::string& name, unsigned format) {
            if (format == S_IFDIR && is_staging_name(name)) names.push_back(name);
            return ++seen < k_max_listed && names.size() < k_max_swept;
        });
        for (const auto& name : names) sweep(parent, name);
    } catch (const std::exception&) {
        // A directory that cannot be listed is not swept.
    }
}

} // namespace

bool is_staging_name(std::string_view name) {
    if (!name.starts_with(k_prefix) || name.size() != k_prefix.size() + 2 * k_random_bytes) return false;
    return name.find_first_not_of("0123456789abcdef", k_prefix.size()) == std::string_view::npos;
}

StagingDirectory::StagingDirectory(int parent, std::string_view where) : m_parent(::openat(parent, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (!m_parent) throw errno_error("cannot write " + std::string(where));
    sweep_abandoned(m_parent.get());
    // Between being made and being locked it looks abandoned to another copy, which may take it away.
    for (int attempt = 0; attempt < k_max_attempts; ++attempt) {
        if (make(where)) return;
    }
    throw Error(ErrorCode::failed, "cannot write " + std::string(where) + ": what is made there disappears");
}

bool StagingDirectory::make(std::string_view where) {
    m_name = std::string(k_prefix) + random_hex(k_random_bytes);
    if (::mkdirat(m_parent.get(), m_name.c_str(), S_IRWXU) != 0) throw errno_error("cannot write " + std::string(where));
    Fd made(::openat(m_parent.get(), m_name.c_str(), k_directory_flags));
    if (!made && errno == ENOENT) return false;
    if (!made) {
        const Error error = errno_error("cannot write " + std::string(where));
        ::unlinkat(m_parent.get(), m_name.c_str(), AT_REMOVEDIR);
        throw error;
    }
    // Where the file system has no such locks it has none for those who sweep, either.
    if (::flock(made.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    if (!is_at(made.get(), m_parent.get(), m_name)) return false;
    m_directory = std::move(made);
    return true;
}

StagingDirectory::StagingDirectory(StagingDirectory&& other) noexcept
    : m_parent(std::move(other.m_parent)), m_directory(std::move(other.m_directory)), m_name(std::move(other.m_name)) {}

StagingDirectory& StagingDirectory::operator=(StagingDirectory&& other) noexcept {
    if (this == &other) return *this;
    remove();
    m_parent = std::move(other.m_parent);
    m_directory = std::move(other.m_directory);
    m_name = std::move(other.m_name);
    return *this;
}

void StagingDirectory::remove() noexcept {
    if (!m_directory) return;
    try {
        remove_tree_at(m_parent.get(), m_name); // still locked: no sweep comes between
    } catch (const std::exception&) {
        // What is left is a hidden directory of ours; the copy's own result is what the caller must hear about.
    }
    m_directory.reset();
}

} // namespace sandbox
