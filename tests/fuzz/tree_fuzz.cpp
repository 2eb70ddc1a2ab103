// SPDX-License-Identifier: Apache-2.0
// The decoder of tree records: whatever comes, only safe paths and content within its file's size get out of it, and how the
// stream was cut makes no difference. The first byte chooses a rooted tree or entries, the second the size of the pieces.
#include "util/error.hpp"
#include "util/tree_record.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace sandbox;

void require(bool condition) {
    if (!condition) std::abort();
}

class Checker final : public TreeVisitor {
  public:
    explicit Checker(bool rooted) : m_rooted(rooted) {}
    std::string seen;

    void on_record(const TreeRecord& record) override {
        require(!m_in_file);
        require(record.path.empty() ? m_rooted && seen.empty() : is_safe_tree_path(record.path));
        require(record.mode <= 07777);
        check_link(record);
        check_xattrs(record);
        require(record.type == TreeType::file || record.size == 0);
        m_in_file = record.type == TreeType::file;
        m_size = record.size;
        m_end = 0;
        seen += "R" + record.path + record.link;
        for (const auto& xattr : record.xattrs) seen += xattr.name + "=" + xattr.value;
    }
    void on_data(std::uint64_t offset, std::string_view bytes) override {
        require(m_in_file && offset >= m_end && offset <= m_size && bytes.size() <= m_size - offset);
        m_end = offset + bytes.size();
        seen += bytes;
    }
    void on_file_end() override {
        require(m_in_file);
        m_in_file = false;
        seen += "E";
    }

  private:
    void check_link(const TreeRecord& record) const {
        if (record.type == TreeType::hard_link) require(m_rooted && !seen.empty() && is_safe_tree_path(record.link));
        else require(record.link.size() <= k_tree_max_link && (record.type == TreeType::symlink) == !record.link.empty());
    }
    static void check_xattrs(const TreeRecord& record) {
        require(record.xattrs.empty() || record.type == TreeType::file || record.type == TreeType::directory);
        std::size_t total = 0;
        for (const auto& xattr : record.xattrs) {
            require(xattr.name.starts_with("user.") && xattr.name.find('\0') == std::string::npos);
            total += xattr.name.size() + xattr.value.size();
        }
        require(total <= k_tree_max_xattrs);
    }

    bool m_rooted;
    bool m_in_file = false;
    std::uint64_t m_size = 0;
    std::uint64_t m_end = 0;
};

std::string decode(std::string_view bytes, bool rooted, std::size_t piece) {
    Checker checker(rooted);
    TreeDecoder decoder(rooted, 1 << 20);
    try {
        for (std::size_t at = 0; at < bytes.size(); at += piece) decoder.feed(bytes.substr(at, piece), checker);
        decoder.finish();
        checker.seen += "F";
    } catch (const Error& error) {
        require(error.code() == ErrorCode::protocol_error || error.code() == ErrorCode::limit_exceeded);
    }
    return checker.seen;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const bool rooted = (data[0] & 1) != 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
    const std::size_t piece = std::size_t{data[1]} + 1;
    require(decode(bytes, rooted, piece) == decode(bytes, rooted, bytes.size() + 1));
    return 0;
}
