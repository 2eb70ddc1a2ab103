// SPDX-License-Identifier: Apache-2.0
// Operation::files: one `request` frame says what is wanted of which path. Answers by kind:
//
//   list             `reply` frames of entries (EntriesMessage), the last one says that it is
//   read             `reply` (PageMessage), the content in `data` frames, an empty one, `done`
//   write            the client sends `data` frames and an empty one; `reply` (WrittenMessage)
//   make_directory,
//   remove           `done`: how many were made or removed
//
// and `failure` instead at any time. What a client that hangs up has begun is taken back (write) or goes no further (remove).
#pragma once

#include "agent/wire.hpp"
#include "util/file_page.hpp"
#include "util/inventory.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sandbox::agent {

struct ListFilesRequest {
    std::string path;
    std::uint32_t depth = 1; // 0: the entry itself, not followed; 1: what is in a directory; more: below it, so many levels
    std::uint64_t max_entries = 0;
};

struct ReadFileRequest {
    std::string path;
    PageWanted page;
    std::optional<std::uint64_t> max_file; // limit_exceeded for a larger file
};

struct WriteFileRequest {
    std::string path;
    std::optional<std::uint32_t> mode; // absent: the old file's, or 0644
    bool append = false;
    bool make_parents = false;
    std::optional<std::uint64_t> max_file; // limit_exceeded before anything is changed
};

struct MakeDirectoryRequest {
    std::string path;
    std::optional<std::uint32_t> mode; // absent: 0755
    bool make_parents = false;         // and one that is there is no error
};

struct RemoveRequest {
    std::string path;
    bool recursive = false;
    bool ignore_missing = false;
};

using FilesRequest = std::variant<ListFilesRequest, ReadFileRequest, WriteFileRequest, MakeDirectoryRequest, RemoveRequest>;
std::string encode(const FilesRequest& request);
FilesRequest decode_files_request(std::string_view payload);

inline constexpr std::size_t k_max_entry_problem = 256;
struct ListedEntry {
    std::string path; // relative to what was listed; its own name where that is no directory
    InventoryType type = InventoryType::file;
    std::uint64_t size = 0;
    std::uint32_t mode = 0; // permission bits, 0 to 07777
    std::int64_t mtime_ns = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::string link;    // a symlink's target
    std::string problem; // why no more is known of it, or of what is in a directory; empty: all was
};
struct EntriesMessage {
    std::vector<ListedEntry> entries;
    bool is_last = false;
    bool truncated = false; // there are more than max_entries, or than list_bytes() holds
};
// How many bytes of paths, links and problems a list of so many entries may hold: names of a usual length, at least one of any.
inline constexpr std::uint64_t k_bytes_an_entry = 1 << 10;
constexpr std::uint64_t list_bytes(std::uint64_t max_entries) {
    if (max_entries > UINT64_MAX / k_bytes_an_entry) return UINT64_MAX;
    return max_entries * k_bytes_an_entry < k_max_frame ? k_max_frame : max_entries * k_bytes_an_entry;
}
inline std::uint64_t bytes_of(const ListedEntry& entry) { return entry.path.size() + entry.link.size() + entry.problem.size(); }
std::string encode(const EntriesMessage& message);
EntriesMessage decode_entries(std::string_view payload);

struct PageMessage {
    PageRange range;
    std::uint32_t mode = 0;
    std::int64_t mtime_ns = 0;
};
std::string encode(const PageMessage& message);
PageMessage decode_page(std::string_view payload);

struct WrittenMessage {
    std::uint64_t bytes = 0; // that came
    std::uint64_t size = 0;  // of the file now
    std::uint32_t mode = 0;
    bool created = false;
};
std::string encode(const WrittenMessage& message);
WrittenMessage decode_written(std::string_view payload);

} // namespace sandbox::agent
