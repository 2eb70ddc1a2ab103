// SPDX-License-Identifier: Apache-2.0
#include "agent/files_survey.hpp"

#include "agent/files_stat.hpp"
#include "util/error.hpp"
#include "util/inventory.hpp"
#include "util/sha256.hpp"
#include "util/time.hpp"
#include "util/tree_path.hpp"
#include "util/tree_walk.hpp"
#include "util/tree_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

// O_NONBLOCK: if the name became a named pipe since it was looked at, open must not wait for a writer.
constexpr int k_file_flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::uint64_t k_clock_every = 128; // entries

class Inventory {
  public:
    Inventory(const SurveyMessage& wanted, TreeEncoder& out) : m_wanted(wanted), m_entries(out), m_hashes(wanted.hashes), m_paths(wanted.paths) {
        std::sort(m_hashes.begin(), m_hashes.end());
    }

    TreeCounts take(Fd root) {
        go_into(std::move(root), "");
        while (!m_levels.empty()) {
            Level& level = m_levels.back();
            const bool has_name = level.next < level.names.size();
            const bool has_directory = !level.directories.empty();
            if (has_directory && (!has_name || level.directories.back() < level.names[level.next])) {
                std::string name = std::move(level.directories.back());
                level.directories.pop_back();
                name.pop_back();
                enter(name);
            } else if (has_name) {
                visit(level.names[level.next++]);
            } else {
                m_levels.pop_back();
                m_stack.pop();
            }
        }
        return m_counts;
    }

  private:
    // What is left to do in one directory. Directories that were seen wait to be gone into, each with a slash after its name: "a-b" comes
    // between "a" and what is in it. The last one that waits is always the first in order, since its name begins with the others'.
    struct Level {
        std::vector<std::string> names;
        std::size_t next = 0;
        std::vector<std::string> directories;
    };

    std::string path_of(std::string_view name) const {
        return m_stack.path().empty() ? std::string(name) : m_stack.path() + "/" + std::string(name);
    }

    bool is_wanted(std::string_view path) const {
        const auto is_below = [](std::string_view one, std::string_view other) {
            return one == other || (one.size() > other.size() && one.starts_with(other) && one[other.size()] == '/');
        };
        return std::any_of(m_paths.begin(), m_paths.end(),
                           [&](const std::string& wanted) { return is_below(path, wanted) || is_below(wanted, path); });
    }

    void go_into(Fd directory, std::string_view name) {
        m_stack.push(std::move(directory), name);
        Level& level = m_levels.emplace_back();
        list_directory(m_stack.top(), [&](const std::string& entry, unsigned format) {
            if (entry == ".git" && !m_wanted.repositories) return;
            // An unfinished copy is part of no tree.
            if (format == S_IFDIR && is_staging_name(entry)) return;
            if (m_paths.empty() || is_wanted(path_of(entry))) level.names.push_back(entry);
        });
        std::sort(level.names.begin(), level.names.end());
    }

    void enter(const std::string& name) {
        Fd directory(::openat(m_stack.top(), name.c_str(), k_directory_flags));
        // Gone since it was seen, or something else by now: then there is nothing in it.
        if (!directory && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return;
        if (!directory) throw path_error("cannot look into", path_of(name));
        go_into(std::move(directory), name);
    }

    void visit(const std::string& name) {
        struct stat info {};
        if (::fstatat(m_stack.top(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
            if (errno == ENOENT) return; // removed since it was listed
            throw path_error("cannot look at", path_of(name));
        }
        InventoryEntry entry = entry_of(info);
        entry.path = path_of(name);
        if (entry.type == InventoryType::symlink && !read_link(name, entry)) return;
        if (takes_content(entry)) add_content(name, entry);
        if (entry.type == InventoryType::directory) {
            entry.unreadable = !Fd(::openat(m_stack.top(), name.c_str(), k_directory_flags)) && errno == EACCES;
            if (!entry.unreadable) m_levels.back().directories.push_back(name + '/');
        }
        count(entry);
        m_entries.entry(entry);
    }

    static InventoryEntry entry_of(const struct stat& info) {
        InventoryEntry entry;
        entry.type = type_of(info.st_mode);
        entry.mode = info.st_mode & 07777;
        if (entry.type == InventoryType::file) entry.size = static_cast<std::uint64_t>(info.st_size);
        entry.mtime_ns = nanoseconds(info.st_mtim);
        entry.ctime_ns = nanoseconds(info.st_ctim);
        entry.inode = info.st_ino;
        return entry;
    }

    // False when it is no link any more.
    bool read_link(const std::string& name, InventoryEntry& entry) const {
        entry.link.resize(k_tree_max_link);
        const ssize_t length = ::readlinkat(m_stack.top(), name.c_str(), entry.link.data(), entry.link.size());
        entry.link.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
        return length > 0;
    }

    bool takes_content(const InventoryEntry& entry) const {
        if (entry.type != InventoryType::file || entry.size > m_wanted.max_content || entry.ctime_ns < m_wanted.since_ns) return false;
        if (m_wanted.max_content == 0 || m_files >= m_wanted.max_files || entry.size > m_wanted.max_total - m_total) return false;
        if (m_wanted.only_hashed && !std::binary_search(m_hashes.begin(), m_hashes.end(), path_hash(entry.path))) return false;
        return !is_in_repository(entry.path);
    }

    // A file that cannot be read, or is written to meanwhile, stays without.
    void add_content(const std::string& name, InventoryEntry& entry) {
        if (entry.size > 0) {
            const Fd file(::openat(m_stack.top(), name.c_str(), k_file_flags));
            struct stat info {};
            if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
            InventoryEntry opened = entry_of(info);
            opened.path = std::move(entry.path);
            entry = std::move(opened);
            if (entry.size > m_wanted.max_content || !read_whole(file.get(), entry.size)) return;
        } else {
            m_content.clear();
        }
        ++m_files;
        m_total += entry.size;
        const bool is_text = m_wanted.texts && !is_binary(m_content);
        entry.content_kind = is_text ? InventoryEntry::Content::bytes : InventoryEntry::Content::digest;
        if (is_text) entry.content = m_content;
        else entry.content = as_view(sha256(m_content));
    }

    bool read_whole(int fd, std::uint64_t size) {
        m_content.resize(static_cast<std::size_t>(size) + 1);
        std::size_t used = 0;
        while (used < m_content.size()) {
            const ssize_t got = ::read(fd, m_content.data() + used, m_content.size() - used);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return false;
            if (got == 0) break;
            used += static_cast<std::size_t>(got);
        }
        m_content.resize(used);
        return used == size;
    }

    void count(const InventoryEntry& entry) {
        ++m_counts.files;
        m_counts.bytes += entry.size;
        if (m_counts.files > m_wanted.max_entries) throw Error(ErrorCode::limit_exceeded, "there are too many files");
        if (m_counts.files % k_clock_every == 0 && boot_now_ms() - m_start_ms > m_wanted.max_ms) {
            throw Error(ErrorCode::limit_exceeded, "looking at all files takes too long");
        }
    }

    const SurveyMessage& m_wanted;
    InventoryEncoder m_entries;
    std::vector<std::uint64_t> m_hashes;
    std::vector<std::string> m_paths;
    DirectoryStack m_stack;
    std::vector<Level> m_levels;
    TreeCounts m_counts;
    std::string m_content;
    std::uint64_t m_files = 0; // whose content was taken
    std::uint64_t m_total = 0;
    std::int64_t m_start_ms = boot_now_ms();
};

} // namespace

TreeCounts take_inventory(Fd directory, const SurveyMessage& message, TreeEncoder& out) {
    return Inventory(message, out).take(std::move(directory));
}

} // namespace sandbox::agent
