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

constexpr std::string_view k_workspace_lock_prefix = "workspace-";

// Owners may hold what a file name may not, and be longer than one.
std::string workspace_lock_name(std::string_view owner, std::string_view id) {
    const std::string both = std::to_string(owner.size()) + ":" + std::string(owner) + std::string(id);
    return std::string(k_workspace_lock_prefix) + sha256_hex(both).substr(0, 32);
}

std::set<std::string> names_in(const std::string& directory) {
    std::set<std::string> names;
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) names.insert(entry.path().filename().string());
    if (failure) throw errno_error("cannot list " + directory, failure.value());
    return names;
}

std::int64_t modified_ms(const std::string& path) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return 0;
    return std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
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

std::optional<LockedSession> Store::try_lock_open(std::string_view id) const {
    auto lock = try_lock_session(id);
    if (!lock) return std::nullopt;
    auto row = find(id);
    if (row && !is_closed(row->state)) return LockedSession{std::move(*lock), std::move(*row)};
    lock->remove_file(); // taking the lock has brought back the file of a session that ended meanwhile
    return std::nullopt;
}

bool Store::is_session_locked(std::string_view id) const {
    check_id_is_file_name(id);
    return FileLock::is_held(m_impl->layout.session_lock(id));
}

FileLock Store::lock_workspace(std::string_view owner, std::string_view id) const {
    return FileLock::acquire(m_impl->layout.other_lock(workspace_lock_name(owner, id)));
}

std::optional<FileLock> Store::try_lock_gc() const { return FileLock::try_acquire(m_impl->layout.other_lock("gc")); }
std::optional<FileLock> Store::try_lock_sweep() const { return FileLock::try_acquire(m_impl->layout.other_lock("sweep")); }
FileLock Store::lock_agent_volume() const { return FileLock::acquire(m_impl->layout.other_lock("agent-volume")); }

void Store::forget_lock(std::string_view id) const {
    check_id_is_file_name(id);
    // Whoever waits on the old file notices that it lost its name (FileLock), takes a new one, and finds the row closed.
    ::unlink(m_impl->layout.session_lock(id).c_str());
}

std::vector<Leftover> Store::leftovers() const {
    // Files first, rows after: what is made in between has a row by then.
    std::set<std::string> names = names_in(m_impl->layout.sessions());
    names.merge(names_in(m_impl->layout.locks()));
    std::erase_if(names, [](const std::string& name) { return name.front() == '.'; });
    for (const auto& row : list(Filter{})) names.erase(row.id);

    std::vector<Leftover> found;
    for (const auto& name : names) {
        const std::string lock = m_impl->layout.session_lock(name);
        const std::int64_t modified = std::max(modified_ms(m_impl->layout.session(name)), modified_ms(lock));
        found.push_back({name, FileLock::is_held(lock), modified});
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

void Store::forget_workspace_locks() const {
    const std::string prefix = "." + std::string(k_workspace_lock_prefix);
    std::set<std::string> names = names_in(m_impl->layout.locks());
    for (const auto& row : list_workspaces(std::nullopt)) names.erase("." + workspace_lock_name(row.owner, row.id));
    for (const auto& name : names) {
        if (!name.starts_with(prefix)) continue;
        // Held: somebody makes this workspace right now. Waited for: whoever waits notices that the file lost its name.
        auto lock = FileLock::try_acquire(m_impl->layout.locks() + "/" + name);
        if (lock) lock->remove_file();
    }
}

} // namespace sandbox::state
