// SPDX-License-Identifier: Apache-2.0
// Takes an archive of one tree ("dir/", "dir/a", ...) for that tree itself: its first entry becomes the root, and all others must be below.
// One that starts with a record of the root itself stays as it is.
//
//   TreeReroot tree(relay); tar_decoder.feed(bytes, tree);
#pragma once

#include "util/tree_record.hpp"

#include <string>

namespace sandbox {

class TreeReroot final : public TreeVisitor {
  public:
    explicit TreeReroot(TreeVisitor& out) : m_out(out) {}
    // Throws protocol_error for an entry that is not below the first one, and one that no tree starts with.
    void on_record(const TreeRecord& record) override;
    void on_data(std::uint64_t offset, std::string_view bytes) override { m_out.on_data(offset, bytes); }
    void on_file_end() override { m_out.on_file_end(); }
    bool has_root() const { return m_has_root; }

  private:
    std::string below(const std::string& path) const;
    TreeVisitor& m_out;
    bool m_has_root = false;
    std::string m_prefix; // "dir/"
};

} // namespace sandbox
