// SPDX-License-Identifier: Apache-2.0
#include "util/tree_record.hpp"

#include "util/error.hpp"
#include "util/little_endian.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cstring>

namespace sandbox {
namespace {

constexpr std::uint8_t k_version = 1;
constexpr std::uint16_t k_flag_sparse = 1;
constexpr std::uint16_t k_flag_default_mode = 2;
constexpr std::size_t k_extent = 16;
constexpr std::size_t k_xattr_header = 8;
constexpr std::string_view k_xattr_prefix = "user.";
constexpr std::size_t k_max_xattr_name = 255; // XATTR_NAME_MAX

[[noreturn]] void malformed(const std::string& what) {
    throw Error(ErrorCode::protocol_error, "malformed file tree: " + what);
}

bool is_safe_component(std::string_view name) {
    return !name.empty() && name.size() <= k_tree_max_name && name != "." && name != "..";
}

} // namespace

bool is_safe_tree_path(std::string_view path) {
    if (path.empty() || path.size() > k_tree_max_path || path.find('\0') != std::string_view::npos) return false;
    for (std::size_t depth = 1; depth <= k_tree_max_depth; ++depth) {
        const auto slash = path.find('/');
        if (!is_safe_component(path.substr(0, slash))) return false;
        if (slash == std::string_view::npos) return true;
        path.remove_prefix(slash + 1);
    }
    return false;
}

bool is_carried_xattr(std::string_view name) {
    return name.starts_with(k_xattr_prefix) && name.size() > k_xattr_prefix.size() && name.size() <= k_max_xattr_name &&
           name.find('\0') == std::string_view::npos;
}

void throw_file_too_large(std::string_view path, std::uint64_t size, std::uint64_t limit) {
    throw Error(ErrorCode::limit_exceeded, quoted(path) + " has " + std::to_string(size) +
                                               " bytes, more than the limit of " + std::to_string(limit) + " for one file");
}

TreeEncoder::TreeEncoder(Emit emit) : m_emit(std::move(emit)), m_buffer(new char[k_tree_chunk]) {}

void TreeEncoder::record(const TreeRecord& record) {
    std::uint16_t flags = 0;
    if (record.sparse) flags = static_cast<std::uint16_t>(flags | k_flag_sparse);
    if (record.mode_is_default) flags = static_cast<std::uint16_t>(flags | k_flag_default_mode);
    std::size_t xattrs_length = 0;
    for (const auto& xattr : record.xattrs) xattrs_length += k_xattr_header + xattr.name.size() + xattr.value.size();
    char header[k_tree_header];
    char* to = put_little_endian(header, k_version);
    to = put_little_endian(to, static_cast<std::uint8_t>(record.type));
    to = put_little_endian(to, flags);
    to = put_little_endian(to, record.mode);
    to = put_little_endian(to, static_cast<std::uint64_t>(record.mtime_seconds));
    to = put_little_endian(to, record.mtime_nanoseconds);
    to = put_little_endian(to, static_cast<std::uint32_t>(record.path.size()));
    to = put_little_endian(to, static_cast<std::uint32_t>(record.link.size()));
    to = put_little_endian(to, static_cast<std::uint32_t>(xattrs_length));
    put_little_endian(to, record.size);
    bytes({header, sizeof header});
    bytes(record.path);
    bytes(record.link);
    for (const auto& xattr : record.xattrs) {
        char lengths[k_xattr_header];
        put_little_endian(put_little_endian(lengths, static_cast<std::uint32_t>(xattr.name.size())), static_cast<std::uint32_t>(xattr.value.size()));
        bytes({lengths, sizeof lengths});
        bytes(xattr.name);
        bytes(xattr.value);
    }
}

void TreeEncoder::extent(std::uint64_t offset, std::uint64_t length) {
    char header[k_extent];
    put_little_endian(put_little_endian(header, offset), length);
    bytes({header, sizeof header});
}

void TreeEncoder::bytes(std::string_view content) {
    while (!content.empty()) {
        const auto free = room();
        const std::size_t count = std::min(free.size(), content.size());
        std::memcpy(free.data(), content.data(), count);
        commit(count);
        content.remove_prefix(count);
    }
}

std::span<char> TreeEncoder::room() {
    if (m_used == k_tree_chunk) flush();
    return {m_buffer.get() + m_used, k_tree_chunk - m_used};
}

void TreeEncoder::flush() {
    if (m_used > 0) m_emit({m_buffer.get(), m_used});
    m_used = 0;
}

void TreeDecoder::expect(State state, std::size_t bytes) {
    m_state = state;
    m_wanted = bytes;
    m_gathered.clear();
}

void TreeDecoder::feed(std::string_view bytes, TreeVisitor& visitor) {
    while (!bytes.empty()) {
        if (m_state == State::data) {
            take_data(bytes, visitor);
            continue;
        }
        const std::size_t count = std::min(bytes.size(), m_wanted - m_gathered.size());
        m_gathered.append(bytes.substr(0, count));
        bytes.remove_prefix(count);
        if (m_gathered.size() < m_wanted) return;
        if (m_state == State::extent) take_extent(visitor);
        else if (m_state == State::names) take_names(visitor);
        else {
            take_header();
            if (m_wanted == 0) take_names(visitor); // the root of a tree has no names, so no byte would start this
        }
    }
}

void TreeDecoder::finish() const {
    if (m_state != State::header || !m_gathered.empty()) malformed("it ends in the middle of a record");
    if (m_rooted && !m_any) malformed("it has no root");
}

void TreeDecoder::take_header() {
    const char* from = m_gathered.data();
    if (get_little_endian<std::uint8_t>(from) != k_version) malformed("unknown version");
    m_record = {};
    m_record.type = static_cast<TreeType>(get_little_endian<std::uint8_t>(from));
    const auto flags = get_little_endian<std::uint16_t>(from);
    m_record.sparse = (flags & k_flag_sparse) != 0;
    m_record.mode_is_default = (flags & k_flag_default_mode) != 0;
    m_record.mode = get_little_endian<std::uint32_t>(from);
    m_record.mtime_seconds = static_cast<std::int64_t>(get_little_endian<std::uint64_t>(from));
    m_record.mtime_nanoseconds = get_little_endian<std::uint32_t>(from);
    m_path_length = get_little_endian<std::uint32_t>(from);
    m_link_length = get_little_endian<std::uint32_t>(from);
    const std::size_t xattrs_length = get_little_endian<std::uint32_t>(from);
    m_record.size = get_little_endian<std::uint64_t>(from);
    if ((flags & ~(k_flag_sparse | k_flag_default_mode)) != 0) malformed("unknown flags");
    if (m_path_length > k_tree_max_path) malformed("a path is too long");
    if (m_link_length > k_tree_max_path) malformed("a link's target is too long");
    if (xattrs_length > k_tree_max_xattrs) malformed("too many extended attributes");
    expect(State::names, m_path_length + m_link_length + xattrs_length);
}

void TreeDecoder::check_record() const {
    const auto& record = m_record;
    if (record.type < TreeType::file || record.type > TreeType::hard_link) malformed("unknown type");
    if (record.mode > 07777 || record.mtime_nanoseconds >= 1'000'000'000) malformed("mode or time out of range");
    if (record.type != TreeType::file && (record.size != 0 || record.sparse)) malformed("content under something that is no file");
    if (record.size > INT64_MAX) malformed("size out of range");
    check_link();
    const bool may_have_xattrs = record.type == TreeType::file || record.type == TreeType::directory;
    if (!may_have_xattrs && !record.xattrs.empty()) malformed("extended attributes of a link");
    if (m_rooted && !m_any) {
        if (!record.path.empty() || record.type == TreeType::hard_link) malformed("it does not start with its root");
    } else if (!is_safe_tree_path(record.path)) {
        malformed("unsafe path " + quoted(std::string_view(record.path).substr(0, 256)));
    }
}

void TreeDecoder::check_link() const {
    const std::string& link = m_record.link;
    if (m_record.type == TreeType::hard_link) {
        // Each stands in a tree; entries that stand alone have no others to be links to.
        if (!m_rooted || !is_safe_tree_path(link)) malformed("bad hard link");
        return;
    }
    const bool is_link = m_record.type == TreeType::symlink;
    if (is_link == link.empty() || link.size() > k_tree_max_link || link.find('\0') != std::string::npos) malformed("bad link target");
}

void TreeDecoder::take_xattrs(std::string_view block) {
    while (!block.empty()) {
        if (block.size() < k_xattr_header) malformed("a cut extended attribute");
        const char* from = block.data();
        const std::size_t name_length = get_little_endian<std::uint32_t>(from);
        const std::size_t value_length = get_little_endian<std::uint32_t>(from);
        block.remove_prefix(k_xattr_header);
        if (name_length > block.size() || value_length > block.size() - name_length) malformed("a cut extended attribute");
        const std::string_view name = block.substr(0, name_length);
        if (!is_carried_xattr(name)) malformed("an extended attribute that is not carried");
        m_record.xattrs.push_back({std::string(name), std::string(block.substr(name_length, value_length))});
        block.remove_prefix(name_length + value_length);
    }
}

void TreeDecoder::take_names(TreeVisitor& visitor) {
    m_record.path = m_gathered.substr(0, m_path_length);
    m_record.link = m_gathered.substr(m_path_length, m_link_length);
    take_xattrs(std::string_view(m_gathered).substr(m_path_length + m_link_length));
    check_record();
    m_any = true;
    if (m_max_file && m_record.size > *m_max_file) throw_file_too_large(m_record.path, m_record.size, *m_max_file);
    visitor.on_record(m_record);
    m_offset = 0;
    m_left = m_record.size;
    if (m_record.sparse) return expect(State::extent, k_extent);
    if (m_left > 0) return expect(State::data, 0);
    if (m_record.type == TreeType::file) visitor.on_file_end();
    expect(State::header, k_tree_header);
}

void TreeDecoder::take_extent(TreeVisitor& visitor) {
    const char* from = m_gathered.data();
    const auto offset = get_little_endian<std::uint64_t>(from);
    const auto length = get_little_endian<std::uint64_t>(from);
    if (offset < m_offset || offset > m_record.size || length > m_record.size - offset) malformed("extent out of range");
    m_offset = offset;
    m_left = length;
    if (length > 0) return expect(State::data, 0);
    if (offset != m_record.size) malformed("empty extent");
    visitor.on_file_end();
    expect(State::header, k_tree_header);
}

void TreeDecoder::take_data(std::string_view& bytes, TreeVisitor& visitor) {
    const auto piece = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), m_left)));
    visitor.on_data(m_offset, piece);
    m_offset += piece.size();
    m_left -= piece.size();
    bytes.remove_prefix(piece.size());
    if (m_left > 0) return;
    if (m_record.sparse) return expect(State::extent, k_extent);
    visitor.on_file_end();
    expect(State::header, k_tree_header);
}

} // namespace sandbox
