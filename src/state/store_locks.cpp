// SPDX-License-Identifier: Apache-2.0
#include "state/store_impl.hpp"
#include "util/sha256.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox::state {
namespace {

constexpr std::string_view k_session_lock_prefix = "session-";

// File names below a directory without `prefix` in front; others are left out.
void collect(const std::string& directory, std::string_view prefix, std::set<std::string>& names) {
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(prefix)) names.insert(name.substr(prefix.size()));
    }
    if (failure) throw errno_error("cannot list " + directory, failure.value());
}

std::int64_t modified_ms(const std::string& path) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return 0;
    return std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

bool is_locked(const std::string& path) {
    // Asking makes the file, so a lock that does not exist is not asked for.
    return ::access(path.c_str(), F_OK) == 0 && !FileLock::try_acquire(path);
}

} // namespace

FileLock Store::lock_session(std::string_view id) const {
    check_id_is_file_name(id);
    return FileLock::acquire(m_impl->layout.session_lock(id));
}

std::optional<FileLock> Store::try_lock_session(std::string_view id) const {
    check_id_is_file_name(id);
    return FileLock::try_acquire(m_impl->layout.session_lock(id));
}

FileLock Store::lock_workspace(std::string_view owner, std::string_view id) const {
    // Owners may hold what a file name may not, and be longer than one.
    const std::string name = sha256_hex(std::to_string(owner.size()) + ":" + std::string(owner) + std::string(id)).substr(0, 32);
    return FileLock::acquire(m_impl->layout.locks() + "/workspace-" + name);
}

std::optional<FileLock> Store::try_lock_gc() const { return FileLock::try_acquire(m_impl->layout.locks() + "/gc"); }
FileLock Store::lock_agent_volume() const { return FileLock::acquire(m_impl->layout.locks() + "/agent-volume"); }

void Store::forget_lock(std::string_view id) const {
    check_id_is_file_name(id);
    // Whoever waits on the old file notices that it lost its name (FileLock), takes a new one, and finds the row closed.
    ::unlink(m_impl->layout.session_lock(id).c_str());
}

std::vector<Leftover> Store::leftovers() const {
    // Files first, rows after: what is made in between has a row by then.
    std::set<std::string> names;
    collect(m_impl->layout.sessions(), "", names);
    collect(m_impl->layout.locks(), k_session_lock_prefix, names);
    for (const auto& row : list(Filter{})) names.erase(row.id);

    std::vector<Leftover> found;
    for (const auto& name : names) {
        const std::string lock = m_impl->layout.session_lock(name);
        const std::int64_t modified = std::max(modified_ms(m_impl->layout.session(name)), modified_ms(lock));
        found.push_back({name, is_locked(lock), modified});
    }
    return found;
}

bool Store::remove_leftover(std::string_view id) const {
    check_id_is_file_name(id);
    auto lock = try_lock_session(id);
    const auto row = find(id);
    if (!lock || (row && !is_closed(row->state))) return false;
    remove_tree(m_impl->layout.session(id));
    lock->remove_file();
    return true;
}

} // namespace sandbox::state
