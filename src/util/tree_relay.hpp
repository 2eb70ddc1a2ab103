// SPDX-License-Identifier: Apache-2.0
// Writes what a decoder found into another record stream: from session to session, or from an archive to a session.
//
//   TreeRelay relay(encoder); decoder.feed(bytes, relay);
#pragma once

#include "util/tree_record.hpp"

namespace sandbox {

class TreeRelay final : public TreeVisitor {
  public:
    explicit TreeRelay(TreeEncoder& out) : m_out(out) {}
    void on_record(const TreeRecord& record) override;
    void on_data(std::uint64_t offset, std::string_view bytes) override;
    void on_file_end() override;
    const TreeCounts& counts() const { return m_counts; }

  private:
    TreeEncoder& m_out;
    bool m_sparse = false;
    std::uint64_t m_size = 0;
    TreeCounts m_counts;
};

} // namespace sandbox
