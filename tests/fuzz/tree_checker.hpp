// SPDX-License-Identifier: Apache-2.0
// What every decoder of trees owes its visitor: a file's content lies in order within its size, and ends before the next record. What
// else a record has to hold is the fuzzer's own.
//
//   class Checker final : public TreeChecker { void check(const TreeRecord& record) override { require(...); } };
#pragma once

#include "util/tree_record.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sandbox {

inline void require(bool condition) {
    if (!condition) std::abort();
}

class TreeChecker : public TreeVisitor {
  public:
    std::string seen; // all that was told, to be compared

    void on_record(const TreeRecord& record) final {
        require(!m_in_file);
        check(record);
        m_in_file = record.type == TreeType::file;
        m_size = record.size;
        m_end = 0;
        seen += "R" + record.path + record.link;
        for (const auto& xattr : record.xattrs) seen += xattr.name + "=" + xattr.value;
    }
    void on_data(std::uint64_t offset, std::string_view bytes) final {
        require(m_in_file && offset >= m_end && offset <= m_size && bytes.size() <= m_size - offset);
        m_end = offset + bytes.size();
        seen += bytes;
    }
    void on_file_end() final {
        require(m_in_file);
        m_in_file = false;
        seen += "E";
    }

  protected:
    virtual void check(const TreeRecord& record) = 0;

  private:
    bool m_in_file = false;
    std::uint64_t m_size = 0;
    std::uint64_t m_end = 0;
};

} // namespace sandbox
