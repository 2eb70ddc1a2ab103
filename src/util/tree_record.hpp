// SPDX-License-Identifier: Apache-2.0
// A file tree as a byte stream: one record a file, directory or link, parents before what is in them. A record is
//
//   u8 version | u8 type | u16 flags | u32 mode | i64 mtime s | u32 mtime ns | u32 path length | u32 link length |
//   u32 xattrs length | u64 size
//
// (little endian), the path, the link's target, the xattrs (each u32 name length | u32 value length | name | value), then a
// file's content: `size` bytes, or, for a sparse file, extents of u64 offset | u64 length | bytes up to one at `size` of length 0.
// Paths are relative to the root; the root's own is empty. A hard link's target is the path of a file that came before it. Hard
// links and xattrs are of protocol version 2: an agent of version 1 must not be sent any.
//
//   TreeEncoder out([&](std::string_view chunk) { send(chunk); });   TreeDecoder in; in.feed(chunk, visitor);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox {

inline constexpr std::size_t k_tree_max_path = 64 << 10;
inline constexpr std::size_t k_tree_max_link = 4095; // what symlink(2) takes
inline constexpr std::size_t k_tree_max_name = 255;
inline constexpr std::size_t k_tree_max_xattrs = 1 << 20; // of one entry, names and values; most file systems keep far less
inline constexpr std::size_t k_tree_max_depth = 4096;
inline constexpr std::size_t k_tree_chunk = 256 << 10;
inline constexpr std::size_t k_tree_header = 40;

enum class TreeType : std::uint8_t { file = 1, directory, symlink, hard_link };

struct TreeXattr {
    std::string name; // "user." and more
    std::string value;
};

struct TreeRecord {
    TreeType type = TreeType::file;
    bool sparse = false;         // the content comes as extents
    bool mode_is_default = false; // an entry whose maker named no mode: an existing directory keeps its own
    std::uint32_t mode = 0;      // permission bits, 0 to 07777
    std::int64_t mtime_seconds = 0;
    std::uint32_t mtime_nanoseconds = 0;
    std::uint64_t size = 0; // files only
    std::string path;
    std::string link; // a symlink's target, or the path of the file that a hard link is another name of
    std::vector<TreeXattr> xattrs; // of files and directories
};

// Whether a path from a stream may be used below a root: relative, no empty, "." or ".." component, no NUL, within the limits.
bool is_safe_tree_path(std::string_view path);
// Whether an extended attribute is one that copies carry: user.*, and none that means anything to the kernel (security.*).
bool is_carried_xattr(std::string_view name);

struct TreeCounts {
    std::uint64_t files = 0; // everything that is not a directory
    std::uint64_t bytes = 0;
    std::uint64_t skipped = 0; // sockets and named pipes, which have no content to copy
};

// Writes records and content into a buffer that is given away when it is full, so that many small files share one chunk.
class TreeEncoder {
  public:
    using Emit = std::function<void(std::string_view)>;
    explicit TreeEncoder(Emit emit);
    void record(const TreeRecord& record);
    void bytes(std::string_view content);
    void extent(std::uint64_t offset, std::uint64_t length);
    // Where content may be read to directly (never empty), and how much of it was.
    std::span<char> room();
    void commit(std::size_t count) { m_used += count; }
    void flush();

  private:
    Emit m_emit;
    std::unique_ptr<char[]> m_buffer;
    std::size_t m_used = 0;
};

// What a decoder found, in order: on_record, then for a file its pieces and on_file_end.
class TreeVisitor {
  public:
    virtual ~TreeVisitor() = default;
    virtual void on_record(const TreeRecord& record) = 0;
    virtual void on_data(std::uint64_t offset, std::string_view bytes) = 0;
    virtual void on_file_end() = 0;
};

// Takes a stream apart however it was cut, holding at most one record's names. Throws Error(protocol_error) on anything
// that no encoder writes, and limit_exceeded for a file larger than `max_file`.
class TreeDecoder {
  public:
    // `rooted`: the first record is the root with an empty path. Otherwise each record stands alone and has a path.
    explicit TreeDecoder(bool rooted, std::optional<std::uint64_t> max_file = std::nullopt)
        : m_rooted(rooted), m_max_file(max_file) {}
    void feed(std::string_view bytes, TreeVisitor& visitor);
    // Throws protocol_error when the stream may not end here.
    void finish() const;

  private:
    enum class State { header, names, data, extent };
    void take_header();
    void take_names(TreeVisitor& visitor);
    void take_extent(TreeVisitor& visitor);
    void take_data(std::string_view& bytes, TreeVisitor& visitor);
    void check_record() const;
    void check_link() const;
    void take_xattrs(std::string_view block);
    void expect(State state, std::size_t bytes);

    bool m_rooted;
    std::optional<std::uint64_t> m_max_file;
    bool m_any = false;
    State m_state = State::header;
    std::size_t m_wanted = k_tree_header;
    std::string m_gathered;
    TreeRecord m_record;
    std::size_t m_path_length = 0;
    std::size_t m_link_length = 0;
    std::uint64_t m_offset = 0;
    std::uint64_t m_left = 0;
};

// limit_exceeded that names the file, its size and the limit.
[[noreturn]] void throw_file_too_large(std::string_view path, std::uint64_t size, std::uint64_t limit);

} // namespace sandbox
