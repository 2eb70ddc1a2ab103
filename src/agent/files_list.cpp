// SPDX-License-Identifier: Apache-2.0
#include "agent/files_connection.hpp"
#include "agent/files_place.hpp"
#include "agent/files_stat.hpp"
#include "agent/files_tools.hpp"
#include "util/error.hpp"
#include "util/staging_directory.hpp"
#include "util/tree_record.hpp"
#include "util/tree_walk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace sandbox::agent {
namespace {

constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t k_batch_bytes = 64 << 10;
// Half of what a path may be in a frame, so that what is in the deepest directory can be said, too.
constexpr std::size_t k_longest_directory = k_tree_max_path / 2;
constexpr std::size_t k_deepest = k_tree_max_depth - 2;

ListedEntry entry_of(int directory, const std::string& name, std::string path, const struct stat& info) {
    ListedEntry entry;
    entry.path = std::move(path);
    entry.type = type_of(info.st_mode);
    entry.mode = info.st_mode & 07777;
    if (entry.type == InventoryType::file) entry.size = static_cast<std::uint64_t>(info.st_size);
    entry.mtime_ns = nanoseconds(info.st_mtim);
    entry.uid = info.st_uid;
    entry.gid = info.st_gid;
    if (entry.type == InventoryType::symlink) {
        entry.link.resize(k_tree_max_link);
        const ssize_t length = ::readlinkat(directory, name.c_str(), entry.link.data(), entry.link.size());
        entry.link.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
    }
    return entry;
}

// Entries on their way, in frames of some size.
class EntrySender {
  public:
    EntrySender(WorkerConnection& connection, std::uint64_t most) : m_connection(connection), m_most(most), m_bytes_left(list_bytes(most)) {}

    // False when there is no room for it any more: the list ends here.
    bool add(ListedEntry entry) {
        const std::uint64_t bytes = bytes_of(entry);
        if (m_count == m_most || bytes > m_bytes_left) {
            m_batch.truncated = true;
            return false;
        }
        ++m_count;
        m_bytes_left -= bytes;
        m_bytes += bytes + sizeof(ListedEntry);
        m_batch.entries.push_back(std::move(entry));
        if (m_bytes >= k_batch_bytes) send();
        return true;
    }
    std::uint64_t room() const { return m_most - m_count; }
    void finish() {
        m_batch.is_last = true;
        send();
    }

  private:
    void send() {
        m_connection.write(encode(m_batch));
        m_batch.entries.clear();
        m_bytes = 0;
    }

    WorkerConnection& m_connection;
    std::uint64_t m_most;
    std::uint64_t m_count = 0;
    std::uint64_t m_bytes_left;
    std::size_t m_bytes = 0; // in the batch
    EntriesMessage m_batch;
};

// Goes into directories as soon as they are seen; the names in each are in the order of their bytes.
class Listing {
  public:
    Listing(WorkerConnection& connection, const ListFilesRequest& request)
        : m_connection(connection), m_depth(request.depth), m_out(connection, request.max_entries) {}

    void directory(Fd root) {
        auto names = names_of(root.get());
        go_into(std::move(root), "", std::move(names));
        while (!m_levels.empty()) {
            Level& level = m_levels.back();
            if (level.next == level.names.size()) {
                m_levels.pop_back();
                m_stack.pop();
            } else if (!visit(level.names[level.next++])) {
                break;
            }
        }
        m_out.finish();
    }

    void single(ListedEntry entry) {
        m_out.add(std::move(entry));
        m_out.finish();
    }

  private:
    using Names = std::vector<std::pair<std::string, unsigned>>; // with their S_IFMT formats
    struct Level {
        Names names;
        std::size_t next = 0;
    };

    void go_into(Fd directory, std::string_view name, Names names) {
        m_stack.push(std::move(directory), name);
        m_levels.push_back({std::move(names), 0});
    }

    // The first of them, as many as there is room for and one that tells that there are more.
    Names names_of(int directory) const {
        expect_client(m_connection);
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(m_out.room(), SIZE_MAX / 4 - 1) + 1);
        Names names;
        const auto keep_first = [&] {
            if (names.size() <= most) return;
            std::nth_element(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(most), names.end());
            names.resize(most);
        };
        list_directory(directory, [&](const std::string& name, unsigned format) {
            // An unfinished copy is part of no tree.
            if (format == S_IFDIR && is_staging_name(name)) return;
            names.emplace_back(name, format);
            if (names.size() >= 2 * most) keep_first();
        });
        keep_first();
        std::sort(names.begin(), names.end());
        return names;
    }

    // False at the end of the room.
    bool visit(const std::pair<std::string, unsigned>& seen) {
        const std::string& name = seen.first;
        std::string path = m_stack.path().empty() ? name : m_stack.path() + "/" + name;
        ListedEntry entry;
        struct stat info {};
        if (::fstatat(m_stack.top(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
            entry = entry_of(m_stack.top(), name, std::move(path), info);
        } else if (errno == ENOENT) {
            return true; // removed since it was listed
        } else {
            entry.problem = std::strerror(errno); // a directory that may be read and not be entered, for one
            entry.path = std::move(path);
            entry.type = type_of(seen.second);
        }
        Names names;
        Fd below = open_below(name, entry, names);
        if (!m_out.add(std::move(entry))) return false;
        if (below) go_into(std::move(below), name, std::move(names));
        return true;
    }

    // With its names. What keeps it from being listed keeps nothing else from being.
    Fd open_below(const std::string& name, ListedEntry& entry, Names& names) const {
        if (entry.type != InventoryType::directory || m_stack.depth() >= m_depth || !entry.problem.empty()) return {};
        if (m_stack.depth() >= k_deepest || entry.path.size() > k_longest_directory) {
            entry.problem = "nested too deep";
            return {};
        }
        Fd directory(::openat(m_stack.top(), name.c_str(), k_directory_flags));
        // Gone since it was seen, or something else by now: then there is nothing in it.
        if (!directory && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) entry.problem = std::strerror(errno);
        if (!directory) return {};
        try {
            names = names_of(directory.get());
        } catch (const Error& error) {
            entry.problem = error.message();
            return {};
        }
        return directory;
    }

    WorkerConnection& m_connection;
    std::uint32_t m_depth;
    EntrySender m_out;
    DirectoryStack m_stack;
    std::vector<Level> m_levels;
};

// What the path itself names, a link taken as such.
ListedEntry entry_at(const Location& location) {
    if (base_name(location.path).empty() || must_be_directory(location.path)) {
        const Fd directory = location.base.open(location.path, O_PATH | O_DIRECTORY);
        struct stat info {};
        if (!directory || ::fstat(directory.get(), &info) != 0) throw path_error("cannot look at", location.path);
        const std::string name = base_name(location.path);
        return entry_of(directory.get(), "", name.empty() ? "." : name, info);
    }
    const Place place = find_place(location, Links::taken);
    if (!place.there) {
        errno = ENOENT;
        throw path_error("cannot look at", location.path);
    }
    return entry_of(place.directory.get(), place.name, place.name, *place.there);
}

} // namespace

void serve(WorkerConnection& connection, const SessionContext& context, const ListFilesRequest& request) {
    const Location location = locate(context.workdir, request.path);
    Listing listing(connection, request);
    if (request.depth == 0) return listing.single(entry_at(location));
    Fd directory = location.base.open(location.path, O_RDONLY | O_DIRECTORY);
    if (directory) return listing.directory(std::move(directory));
    if (errno != ENOTDIR) throw path_error("cannot list", location.path);
    listing.single(entry_at(location));
}

} // namespace sandbox::agent
