// SPDX-License-Identifier: Apache-2.0
// Takes a tar archive apart, as it comes: ustar, GNU (long names, base-256 numbers, sparse files) and pax (long names, sizes,
// times, user xattrs, sparse files 0.0 to 1.0). Nobody trusts it: only paths below the root come out, and devices never.
//
//   TarDecoder in; in.feed(bytes, visitor); in.finish();
#pragma once

#include "util/tar_header.hpp"
#include "util/tree_record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sandbox {

// Whether "/" and "./" are a record, the root's, and "/a" is one below it: so Podman archives what lies at a mount.
enum class TarRoot { no_record, record };

class TarDecoder {
  public:
    explicit TarDecoder(std::optional<std::uint64_t> max_file = std::nullopt, TarRoot root = TarRoot::no_record) : m_max_file(max_file), m_root(root) {}
    // Records come in the archive's order, parents perhaps missing or late; the root itself ("./") is none unless asked for. Throws
    // protocol_error (malformed), denied (absolute, or through ".."), failed (a device), limit_exceeded.
    void feed(std::string_view bytes, TreeVisitor& visitor);
    // Throws protocol_error unless the archive's end mark has come: without one it may have been cut between two files.
    void finish() const;
    std::uint64_t skipped() const { return m_skipped; } // named pipes

  private:
    enum class State { header, extension, gnu_map, pax_map, data, ended };
    struct Extent {
        std::uint64_t offset;
        std::uint64_t length;
    };
    // What came in front of a member, for that member only.
    struct Extension {
        std::string path;
        std::string link;
        std::optional<std::uint64_t> size;
        std::optional<std::uint64_t> real_size; // of a sparse file
        std::optional<std::pair<std::int64_t, std::uint32_t>> mtime;
        std::vector<TreeXattr> xattrs;
        std::vector<Extent> extents;
        bool is_sparse = false;
        bool has_map_in_data = false; // sparse format 1.0
    };

    void expect(State state, std::size_t bytes);
    void take_gathered(TreeVisitor& visitor);
    void take_header(TreeVisitor& visitor);
    void take_extension();
    void take_pax(std::string_view key, std::string_view value);
    bool take_pax_sparse(std::string_view key, std::string_view value);
    void take_gnu_map(TreeVisitor& visitor);
    void take_pax_map(TreeVisitor& visitor);
    void take_data(std::string_view& bytes, TreeVisitor& visitor);
    void start_member(TreeVisitor& visitor);
    void start_file(TreeVisitor& visitor);
    void begin_content(TreeVisitor& visitor);
    void end_file(TreeVisitor& visitor);
    void skip_content();
    void add_extent(std::uint64_t offset, std::uint64_t length);
    void add_gnu_extents(std::string_view entries);
    void check_extents() const;
    std::string member_path() const;

    std::string confined_path(std::string_view path) const;

    std::optional<std::uint64_t> m_max_file;
    TarRoot m_root;
    State m_state = State::header;
    std::size_t m_wanted = k_tar_block;
    std::string m_gathered;
    bool m_any = false;
    TarHeader m_header{};
    Extension m_extension;
    TreeRecord m_record;
    std::vector<std::uint64_t> m_numbers; // of a map in the data
    std::string m_digits;
    std::size_t m_extent = 0;
    std::uint64_t m_in_extent = 0;
    std::uint64_t m_stored = 0; // bytes of this member's content in the archive
    std::uint64_t m_left = 0;   // of those, to come
    std::uint64_t m_skip = 0;
    std::uint64_t m_skipped = 0;
};

} // namespace sandbox
