// SPDX-License-Identifier: Apache-2.0
// The decoder of tree records: whatever comes, only safe paths and content within its file's size get out of it, and how the
// stream was cut makes no difference. The first byte chooses a rooted tree or entries, the second the size of the pieces.
#include "tree_checker.hpp"
#include "util/error.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using namespace sandbox;

class Checker final : public TreeChecker {
  public:
    explicit Checker(bool rooted) : m_rooted(rooted) {}

  private:
    void check(const TreeRecord& record) override {
        require(record.path.empty() ? m_rooted && seen.empty() : is_safe_tree_path(record.path));
        require(record.mode <= 07777);
        check_link(record);
        check_xattrs(record);
        require(record.type == TreeType::file || record.size == 0);
    }
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
