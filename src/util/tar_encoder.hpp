// SPDX-License-Identifier: Apache-2.0
// Makes a tar archive (pax, which every tar of this century reads) of a tree's records: exact times, long names, any size, hard links
// and user xattrs. Holes are written as zeros, since a stream's holes are known only as they come.
//
//   TarEncoder out([&](std::string_view bytes) { write(bytes); }, "dir"); decoder.feed(bytes, out); out.finish();
#pragma once

#include "util/tree_record.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sandbox {

class TarEncoder final : public TreeVisitor {
  public:
    using Emit = std::function<void(std::string_view)>;
    // `root`: what the tree's root is called in the archive. Everything belongs to the caller; setuid and setgid bits are dropped.
    TarEncoder(Emit emit, std::string root);
    void on_record(const TreeRecord& record) override;
    void on_data(std::uint64_t offset, std::string_view bytes) override;
    void on_file_end() override;
    // Writes the end mark. Without it the archive is a cut one.
    void finish();
    const TreeCounts& counts() const { return m_counts; }

  private:
    std::string path_of(std::string_view path) const;
    void put(std::string_view bytes);
    void put_zeros(std::uint64_t count);
    void put_header(const TreeRecord& record, const std::string& path, const std::string& link);

    Emit m_emit;
    std::string m_root;
    std::string m_buffer;
    std::uint64_t m_position = 0;
    std::uint64_t m_size = 0;
    TreeCounts m_counts;
};

} // namespace sandbox
