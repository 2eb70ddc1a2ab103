// SPDX-License-Identifier: Apache-2.0
// Single files of a session: list, read by pages, write, make, remove. Paths are those of a copy (agent_client.hpp): absolute, or relative
// to the workdir, and confined to it where they name something in it. The agent does the paging, so what is asked for is all that travels.
//
//   const FileList list = list_files(link, {.path = "src", .depth = k_whole_depth});
//   const FilePage page = read_page(link, {.path = "log", .page = {.unit = PageUnit::lines, .start = 101, .count = 50}}, write);
//   const FileText text = read_text(link, {.path = "README.md", .page = {.max_bytes = 64 << 10}});
//
// Everywhere: throws not_found, conflict (it is something else), denied (it leads out of the workdir), limit_exceeded, no_space, interrupted
// by INT, TERM and HUP; usage for what can be no path; session_unreachable when the session ends meanwhile; failed for a session of an older sandbox.
#pragma once

#include "channel/agent_client.hpp"
#include "util/file_page.hpp"
#include "util/inventory.hpp"

namespace sandbox::channel {

struct FileEntry {
    std::string path; // relative to the listed directory, any bytes; its own name where that is no directory
    InventoryType type = InventoryType::file;
    std::uint64_t size = 0; // files only
    std::uint32_t mode = 0; // permission bits, 0 to 07777
    std::int64_t mtime_ns = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::string link;    // a symlink's target
    std::string problem; // why no more is known of it, or of what is in it (permissions); from the container: print it safely
};

inline constexpr std::uint32_t k_whole_depth = UINT32_MAX;
struct ListFilesOptions {
    std::string path;        // empty: the workdir
    std::uint32_t depth = 1; // 0: the entry itself, a link not followed; 1: what is in a directory; more: so many levels
    std::uint64_t max_entries = 10'000;
};
struct FileList {
    std::vector<FileEntry> entries; // each directory before what is in it, and the names in it in the order of their bytes
    bool truncated = false;         // there are more than max_entries, or these are so long that more than 1 KiB of text goes to each
};
FileList list_files(const Link& link, const ListFilesOptions& options);

struct ReadFileOptions {
    std::string path; // a regular file, or a link to one
    PageWanted page{};
    std::optional<std::uint64_t> max_file{}; // limit_exceeded for a larger one, whatever page of it is wanted
};
struct FilePage {
    PageRange range;           // what was found when the file was opened
    std::uint64_t bytes = 0;   // that came: fewer than the range where the file was shortened meanwhile
    std::uint32_t mode = 0;
    std::int64_t mtime_ns = 0;
    // Where to read on; absent at the end of the file.
    std::optional<std::uint64_t> next_byte() const { return range.end < range.size ? std::optional(range.end) : std::nullopt; }
    std::optional<std::uint64_t> next_line() const { return range.next_line > 0 ? std::optional(range.next_line) : std::nullopt; }
};
// Takes the content piece by piece; `wait_writable` as in ExecIo, and throws interrupted.
using FileSink = std::function<void(std::string_view bytes, const std::function<bool(int)>& wait_writable)>;
FilePage read_page(const Link& link, const ReadFileOptions& options, const FileSink& write);

// The same for callers who want it in memory: options.page.max_bytes is what they have room for.
struct FileText {
    FilePage page;
    std::string content;
    bool is_utf8 = false;   // all of it
    bool is_binary = false; // it holds a NUL
};
FileText read_text(const Link& link, const ReadFileOptions& options);

struct WriteFileOptions {
    std::string path;                  // followed where it is a link, as far as the path itself may lead
    std::optional<std::uint32_t> mode{}; // absent: the old file's, or 0644
    bool append = false;               // behind what is there, in place
    bool make_parents = false;
    std::optional<std::uint64_t> max_file{}; // of the whole file; limit_exceeded before anything is changed
    Progress progress{};
};
struct WrittenFile {
    std::uint64_t bytes = 0; // that came
    std::uint64_t size = 0;  // of the file now
    std::uint32_t mode = 0;
    bool created = false;
};
// The file is changed when all of the input has come, and not at all when this throws.
WrittenFile write_file(const Link& link, const ArchiveInput& input, const WriteFileOptions& options);

struct MakeDirectoryOptions {
    std::string path;
    std::optional<std::uint32_t> mode{}; // absent: 0755
    bool make_parents = false;         // with 0755; and a directory that is there is no error
};
// False when it was there. Throws exists unless make_parents.
bool make_directory(const Link& link, const MakeDirectoryOptions& options);

struct RemoveFileOptions {
    std::string path; // a link is removed itself
    bool recursive = false; // directories with all that is in them, also what their owner may not write to
    bool ignore_missing = false;
};
// How many entries. The workdir and what holds it stay: conflict. An error half-way leaves the rest.
std::uint64_t remove_file(const Link& link, const RemoveFileOptions& options);

} // namespace sandbox::channel
