// SPDX-License-Identifier: Apache-2.0
// The decoder of tar archives: whatever comes, only safe paths and content within its file's size get out of it, and how the
// archive was cut makes no difference. The first byte is the size of the pieces.
#include "util/error.hpp"
#include "util/tar_decoder.hpp"

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
    std::string seen;

    void on_record(const TreeRecord& record) override {
        require(!m_in_file && is_safe_tree_path(record.path) && record.mode <= 07777 && record.mtime_nanoseconds < 1'000'000'000);
        if (record.type == TreeType::hard_link) require(is_safe_tree_path(record.link));
        if (record.type == TreeType::symlink) require(!record.link.empty() && record.link.size() <= k_tree_max_link);
        for (const auto& xattr : record.xattrs) require(is_carried_xattr(xattr.name));
        m_in_file = record.type == TreeType::file;
        m_size = record.size;
        m_end = 0;
        seen += "R" + record.path + record.link;
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
    bool m_in_file = false;
    std::uint64_t m_size = 0;
    std::uint64_t m_end = 0;
};

std::string decode(std::string_view bytes, std::size_t piece) {
    Checker checker;
    TarDecoder decoder;
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
    require(decode(bytes, std::size_t{data[0]} + 1) == decode(bytes, bytes.size() + 1));
    return 0;
}
