// SPDX-License-Identifier: Apache-2.0
#include "util/inventory.hpp"

#include "util/error.hpp"
#include "util/little_endian.hpp"
#include "util/text.hpp"

#include <algorithm>

namespace sandbox {
namespace {

constexpr std::uint8_t k_flag_unreadable = 1;
constexpr std::uint8_t k_flag_bytes = 2;
constexpr std::uint8_t k_flag_digest = 4;
constexpr std::size_t k_read_size = 64 << 10;

[[noreturn]] void malformed(const std::string& what) {
    throw Error(ErrorCode::protocol_error, "malformed inventory: " + what);
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
    const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return static_cast<std::size_t>(at - a.begin());
}

std::uint8_t flags_of(const InventoryEntry& entry) {
    const int content = entry.content_kind == InventoryEntry::Content::none    ? 0
                        : entry.content_kind == InventoryEntry::Content::bytes ? k_flag_bytes
                                                                               : k_flag_digest;
    return static_cast<std::uint8_t>(content | (entry.unreadable ? k_flag_unreadable : 0));
}

InventoryEntry::Content content_of(std::uint8_t flags) {
    switch (flags & (k_flag_bytes | k_flag_digest)) {
    case 0: return InventoryEntry::Content::none;
    case k_flag_bytes: return InventoryEntry::Content::bytes;
    case k_flag_digest: return InventoryEntry::Content::digest;
    default: malformed("unknown content");
    }
}

} // namespace

bool is_in_repository(std::string_view path) {
    for (;;) {
        const auto slash = path.find('/');
        if (path.substr(0, slash) == ".git") return true;
        if (slash == std::string_view::npos) return false;
        path.remove_prefix(slash + 1);
    }
}

std::uint64_t path_hash(std::string_view path) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

void InventoryEncoder::entry(const InventoryEntry& entry) {
    const std::size_t shared = common_prefix(m_before, entry.path);
    char header[InventoryDecoder::k_header];
    char* to = put_little_endian(header, static_cast<std::uint8_t>(entry.type));
    to = put_little_endian(to, flags_of(entry));
    to = put_little_endian(to, static_cast<std::uint16_t>(entry.mode));
    to = put_little_endian(to, static_cast<std::uint32_t>(shared));
    to = put_little_endian(to, static_cast<std::uint32_t>(entry.path.size() - shared));
    to = put_little_endian(to, static_cast<std::uint32_t>(entry.link.size()));
    to = put_little_endian(to, static_cast<std::uint32_t>(entry.content.size()));
    to = put_little_endian(to, entry.size);
    to = put_little_endian(to, static_cast<std::uint64_t>(entry.mtime_ns));
    to = put_little_endian(to, static_cast<std::uint64_t>(entry.ctime_ns));
    put_little_endian(to, entry.inode);
    m_out.bytes({header, sizeof header});
    m_out.bytes(std::string_view(entry.path).substr(shared));
    m_out.bytes(entry.link);
    m_out.bytes(entry.content);
    m_before = entry.path;
}

bool InventoryDecoder::next(std::string_view& bytes, InventoryEntry& entry) {
    for (;;) {
        const std::size_t wanted = m_in_header ? k_header : m_path_length + m_link_length + m_content_length;
        const std::size_t count = std::min(bytes.size(), wanted - m_gathered.size());
        m_gathered.append(bytes.substr(0, count));
        bytes.remove_prefix(count);
        if (m_gathered.size() < wanted) return false;
        const bool is_whole = !m_in_header;
        if (m_in_header) take_header();
        else take_rest(entry);
        m_in_header = is_whole;
        m_gathered.clear();
        if (is_whole) return true;
    }
}

void InventoryDecoder::finish() const {
    if (!m_in_header || !m_gathered.empty()) malformed("it ends in the middle of an entry");
}

void InventoryDecoder::take_header() {
    const char* from = m_gathered.data();
    m_entry = {};
    m_entry.type = static_cast<InventoryType>(get_little_endian<std::uint8_t>(from));
    const auto flags = get_little_endian<std::uint8_t>(from);
    m_entry.mode = get_little_endian<std::uint16_t>(from);
    m_shared = get_little_endian<std::uint32_t>(from);
    m_path_length = get_little_endian<std::uint32_t>(from);
    m_link_length = get_little_endian<std::uint32_t>(from);
    m_content_length = get_little_endian<std::uint32_t>(from);
    m_entry.size = get_little_endian<std::uint64_t>(from);
    m_entry.mtime_ns = static_cast<std::int64_t>(get_little_endian<std::uint64_t>(from));
    m_entry.ctime_ns = static_cast<std::int64_t>(get_little_endian<std::uint64_t>(from));
    m_entry.inode = get_little_endian<std::uint64_t>(from);
    if ((flags & ~(k_flag_unreadable | k_flag_bytes | k_flag_digest)) != 0) malformed("unknown flags");
    m_entry.unreadable = (flags & k_flag_unreadable) != 0;
    m_entry.content_kind = content_of(flags);
    if (m_shared > m_path.size() || m_path_length > k_tree_max_path - m_shared || m_path_length == 0) malformed("a path of a bad length");
    if (m_link_length > k_tree_max_link) malformed("a link's target is too long");
    if (m_content_length > std::max(m_max_content, Sha256Digest().size())) malformed("too much content");
}

void InventoryDecoder::take_rest(InventoryEntry& entry) {
    const std::string_view gathered = m_gathered;
    entry = std::move(m_entry);
    take_path(gathered.substr(0, m_path_length));
    entry.path = m_path;
    entry.link = gathered.substr(m_path_length, m_link_length);
    entry.content = gathered.substr(m_path_length + m_link_length);
    check(entry);
    if (entry.type == InventoryType::directory) m_directories.push_back(m_path.size());
}

void InventoryDecoder::take_path(std::string_view rest) {
    const std::string path = m_path.substr(0, m_shared) + std::string(rest);
    if (path <= m_path) malformed("paths out of order");
    if (!is_safe_tree_path(path)) malformed("unsafe path " + quoted(std::string_view(path).substr(0, 256)));
    // A directory that comes later in the order, "a-b" before "a/", begins with the name that is waited for.
    while (!m_directories.empty() && path.compare(0, m_directories.back(), m_path, 0, m_directories.back()) != 0) m_directories.pop_back();
    m_path = path;
    const auto slash = m_path.rfind('/');
    if (slash != std::string::npos && std::find(m_directories.begin(), m_directories.end(), slash) == m_directories.end()) {
        malformed(quoted(std::string_view(path).substr(0, 256)) + " is in no directory");
    }
}

void InventoryDecoder::check(const InventoryEntry& entry) const {
    if (entry.type < InventoryType::file || entry.type > InventoryType::device) malformed("unknown type");
    if (entry.mode > 07777) malformed("mode out of range");
    if (entry.type != InventoryType::file && (entry.size != 0 || entry.content_kind != InventoryEntry::Content::none)) malformed("content of no file");
    if (entry.unreadable && entry.type != InventoryType::directory) malformed("unreadable and no directory");
    const bool is_link = entry.type == InventoryType::symlink;
    if (is_link == entry.link.empty() || entry.link.find('\0') != std::string::npos) malformed("bad link target");
    switch (entry.content_kind) {
    case InventoryEntry::Content::none:
        if (!entry.content.empty()) malformed("content of no kind");
        break;
    case InventoryEntry::Content::bytes:
        if (entry.content.size() != entry.size || is_binary(entry.content)) malformed("content that is no text");
        break;
    case InventoryEntry::Content::digest:
        if (entry.content.size() != Sha256Digest().size()) malformed("bad digest");
        break;
    }
}

InventoryReader::InventoryReader(Fd file, std::size_t max_content) : m_file(std::move(file)), m_decoder(max_content) {}

std::optional<InventoryEntry> InventoryReader::next() {
    InventoryEntry entry;
    while (!m_decoder.next(m_rest, entry)) {
        m_buffer.resize(k_read_size);
        m_buffer.resize(read_some(m_file.get(), m_buffer));
        m_rest = m_buffer;
        if (!m_rest.empty()) continue;
        m_decoder.finish();
        return std::nullopt;
    }
    return entry;
}

} // namespace sandbox
