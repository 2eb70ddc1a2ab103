// SPDX-License-Identifier: Apache-2.0
// An inventory of a tree as a byte stream: one entry for each thing below the root, in the order of their paths' bytes, so that two
// of them are compared side by side whatever their size. An entry is
//
//   u8 type | u8 flags | u16 mode | u32 shared | u32 path length | u32 link length | u32 content length | u64 size | i64 mtime ns |
//   i64 ctime ns | u64 inode
//
// (little endian), the path but for the `shared` bytes that it has in common with the one before, a link's target, and the content: the
// bytes of a small text, or a SHA-256 where flags say so.
//
//   InventoryEncoder out(tree_encoder); out.entry(entry);
//   InventoryDecoder in(limit); while (in.next(bytes, entry)) take(entry);
#pragma once

#include "util/fd.hpp"
#include "util/sha256.hpp"
#include "util/tree_record.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox {

enum class InventoryType : std::uint8_t { file = 1, directory, symlink, fifo, socket, device };

struct InventoryEntry {
    enum class Content : std::uint8_t { none, bytes, digest };
    InventoryType type = InventoryType::file;
    bool unreadable = false; // a directory in which nothing can be seen
    std::uint32_t mode = 0;  // permission bits, 0 to 07777
    std::uint64_t size = 0;  // files only
    std::int64_t mtime_ns = 0;
    std::int64_t ctime_ns = 0; // the kernel's own, which nobody can set: later than the last change
    std::uint64_t inode = 0;
    std::string path; // relative to the root
    std::string link; // a symlink's target
    Content content_kind = Content::none;
    std::string content; // of files: all of it, or its SHA-256
};

// Whether a file's content is none that a patch of lines could hold.
inline bool is_binary(std::string_view content) { return content.find('\0') != std::string_view::npos; }
// Whether a component of the path is ".git": a repository's own files.
bool is_in_repository(std::string_view path);
// The hash by which a client says which paths it means (FNV-1a).
std::uint64_t path_hash(std::string_view path);

class InventoryEncoder {
  public:
    explicit InventoryEncoder(TreeEncoder& out) : m_out(out) {}
    // Paths ascending.
    void entry(const InventoryEntry& entry);

  private:
    TreeEncoder& m_out;
    std::string m_before;
};

// Takes the stream apart however it was cut, holding one entry. Throws Error(protocol_error) on anything that no walk of a tree gives:
// paths out of order, unsafe ones, ones whose parent is no directory, content longer than `max_content`.
class InventoryDecoder {
  public:
    static constexpr std::size_t k_header = 52;
    explicit InventoryDecoder(std::size_t max_content) : m_max_content(max_content) {}
    // Takes bytes away up to the end of the next entry; false when they are used up before that.
    bool next(std::string_view& bytes, InventoryEntry& entry);
    // Throws protocol_error when the stream may not end here.
    void finish() const;

  private:
    void take_header();
    void take_rest(InventoryEntry& entry);
    void take_path(std::string_view rest);
    void check(const InventoryEntry& entry) const;

    std::size_t m_max_content;
    bool m_in_header = true;
    std::string m_gathered;
    InventoryEntry m_entry; // its numbers, once the header is there
    std::size_t m_shared = 0;
    std::size_t m_path_length = 0;
    std::size_t m_link_length = 0;
    std::size_t m_content_length = 0;
    std::string m_path;                     // of the entry before
    std::vector<std::size_t> m_directories; // lengths of the parts of m_path that are known to be directories
};

// The entries of a file, from where the descriptor stands.
class InventoryReader {
  public:
    InventoryReader(Fd file, std::size_t max_content);
    // Absent at the end. Throws protocol_error.
    std::optional<InventoryEntry> next();

  private:
    Fd m_file;
    InventoryDecoder m_decoder;
    std::string m_buffer;
    std::string_view m_rest;
};

} // namespace sandbox
