// SPDX-License-Identifier: Apache-2.0
// The decoder of tar archives: whatever comes, only safe paths and content within its file's size get out of it, and how the
// archive was cut makes no difference. The first byte is the size of the pieces.
#include "tree_checker.hpp"
#include "util/error.hpp"
#include "util/tar_decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using namespace sandbox;

class Checker final : public TreeChecker {
  public:
    explicit Checker(TarRoot root) : m_root(root) {}

  private:
    void check(const TreeRecord& record) override {
        const bool is_root = m_root == TarRoot::record && record.path.empty() && record.type == TreeType::directory;
        require((is_root || is_safe_tree_path(record.path)) && record.mode <= 07777 && record.mtime_nanoseconds < 1'000'000'000);
        if (record.type == TreeType::hard_link) require(is_safe_tree_path(record.link));
        if (record.type == TreeType::symlink) require(!record.link.empty() && record.link.size() <= k_tree_max_link);
        for (const auto& xattr : record.xattrs) require(is_carried_xattr(xattr.name));
    }
    TarRoot m_root;
};

std::string decode(std::string_view bytes, std::size_t piece, TarRoot root) {
    Checker checker(root);
    TarDecoder decoder(std::nullopt, root);
    try {
        for (std::size_t at = 0; at < bytes.size(); at += piece) decoder.feed(bytes.substr(at, piece), checker);
        decoder.finish();
        checker.seen += "F";
    } catch (const Error& error) {
        require(error.code() == ErrorCode::protocol_error || error.code() == ErrorCode::denied || error.code() == ErrorCode::failed);
    }
    return checker.seen;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    for (const TarRoot root : {TarRoot::no_record, TarRoot::record}) {
        require(decode(bytes, std::size_t{data[0]} + 1, root) == decode(bytes, bytes.size() + 1, root));
    }
    return 0;
}
