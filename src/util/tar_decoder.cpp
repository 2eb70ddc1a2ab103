// SPDX-License-Identifier: Apache-2.0
#include "util/tar_decoder.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace sandbox {
namespace {

constexpr std::size_t k_max_extension = k_tree_max_xattrs + 4 * k_tree_max_path; // of one pax or long-name header
constexpr std::size_t k_max_extents = 1 << 18;
constexpr std::string_view k_xattr_key = "SCHILY.xattr.";
// Old GNU sparse headers: where the map lies in the first header, how many entries it has there and in each further block.
constexpr std::size_t k_gnu_map_at = 386;
constexpr std::size_t k_gnu_map_entries = 4;
constexpr std::size_t k_gnu_more_at = 482;
constexpr std::size_t k_gnu_real_size_at = 483;
constexpr std::size_t k_gnu_block_entries = 21;
constexpr std::size_t k_gnu_block_more_at = 504;
constexpr std::size_t k_number = 12;

[[noreturn]] void malformed(const std::string& what) { throw Error(ErrorCode::protocol_error, "malformed archive: " + what); }

[[noreturn]] void leads_out(std::string_view path) {
    throw Error(ErrorCode::denied, quoted(shortened(path, 256)) + " in the archive leads out of the target");
}

std::uint64_t decimal(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > INT64_MAX) malformed("the number " + quoted(shortened(text, 32)));
    return value;
}

// "-1.25" is the moment 1.25 s before the epoch: seconds rounded down, and nanoseconds counted up from there.
std::pair<std::int64_t, std::uint32_t> moment(std::string_view text) {
    const bool is_negative = text.starts_with('-');
    if (is_negative) text.remove_prefix(1);
    const auto dot = text.find('.');
    auto seconds = static_cast<std::int64_t>(decimal(text.substr(0, dot)));
    std::string fraction(dot == std::string_view::npos ? "" : text.substr(dot + 1, 9));
    fraction.resize(9, '0');
    auto nanoseconds = static_cast<std::uint32_t>(decimal(fraction));
    if (!is_negative) return {seconds, nanoseconds};
    if (nanoseconds == 0) return {-seconds, 0};
    return {-seconds - 1, 1'000'000'000 - nanoseconds};
}

std::uint64_t number(std::string_view field) {
    const auto value = tar_number(field);
    if (!value || *value < 0) malformed("a number in a header");
    return static_cast<std::uint64_t>(*value);
}

bool is_all_zero(std::string_view block) { return block.find_first_not_of('\0') == std::string_view::npos; }

} // namespace

void TarDecoder::expect(State state, std::size_t bytes) {
    m_state = state;
    m_wanted = bytes;
    m_gathered.clear();
}

void TarDecoder::feed(std::string_view bytes, TreeVisitor& visitor) {
    while (!bytes.empty() && m_state != State::ended) {
        if (m_skip > 0) {
            const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(m_skip, bytes.size()));
            bytes.remove_prefix(count);
            m_skip -= count;
            continue;
        }
        if (m_state == State::data) {
            take_data(bytes, visitor);
            continue;
        }
        const std::size_t count = std::min(bytes.size(), m_wanted - m_gathered.size());
        m_gathered.append(bytes.substr(0, count));
        bytes.remove_prefix(count);
        if (m_gathered.size() == m_wanted) take_gathered(visitor);
    }
}

void TarDecoder::finish() const {
    if (m_state == State::ended) return;
    if (!m_any && m_gathered.empty()) malformed("it is empty");
    malformed("it ends before its end mark, so it was cut");
}

void TarDecoder::take_gathered(TreeVisitor& visitor) {
    switch (m_state) {
    case State::header: return take_header(visitor);
    case State::extension: return take_extension();
    case State::gnu_map: return take_gnu_map(visitor);
    case State::pax_map: return take_pax_map(visitor);
    case State::data:
    case State::ended: break;
    }
}

void TarDecoder::take_header(TreeVisitor& visitor) {
    if (is_all_zero(m_gathered)) {
        m_state = State::ended; // the end mark has two such blocks, of which some writers leave one out
        return;
    }
    std::memcpy(&m_header, m_gathered.data(), sizeof m_header);
    if (!has_right_checksum(m_header)) malformed(m_any ? "a header's checksum is wrong" : "it is no tar archive");
    m_any = true;
    m_stored = number({m_header.size, sizeof m_header.size});
    switch (m_header.type) {
    case 'x':
    case 'L':
    case 'K':
        if (m_stored > k_max_extension) malformed("a header is too long");
        return expect(State::extension, static_cast<std::size_t>(m_stored));
    case 'g': // what holds for all members: comments, and defaults that each member overrides
    case 'V': // a volume's label
        skip_content();
        return expect(State::header, k_tar_block);
    default: return start_member(visitor);
    }
}

void TarDecoder::take_extension() {
    const std::string text = std::move(m_gathered);
    if (m_header.type == 'x') {
        const bool is_whole = for_each_pax_record(text, [this](std::string_view key, std::string_view value) { take_pax(key, value); });
        if (!is_whole) malformed("a pax header");
    } else {
        (m_header.type == 'L' ? m_extension.path : m_extension.link) = text.substr(0, text.find('\0'));
    }
    m_skip = tar_padding(m_stored);
    expect(State::header, k_tar_block);
}

void TarDecoder::take_pax(std::string_view key, std::string_view value) {
    if (key == "path") m_extension.path = value;
    else if (key == "linkpath") m_extension.link = value;
    else if (key == "size") m_extension.size = decimal(value);
    else if (key == "mtime") m_extension.mtime = moment(value);
    else if (key.starts_with(k_xattr_key) && is_carried_xattr(key.substr(k_xattr_key.size()))) {
        m_extension.xattrs.push_back({std::string(key.substr(k_xattr_key.size())), std::string(value)});
    } else if (key.starts_with("GNU.sparse.") && !take_pax_sparse(key.substr(11), value)) {
        malformed("a sparse file of an unknown format");
    }
}

bool TarDecoder::take_pax_sparse(std::string_view key, std::string_view value) {
    auto& extension = m_extension;
    extension.is_sparse = true;
    if (key == "major") extension.has_map_in_data = value == "1";
    if (key == "major") return value == "0" || value == "1";
    if (key == "minor" || key == "numblocks") return true;
    if (key == "name") extension.path = value;
    else if (key == "size" || key == "realsize") extension.real_size = decimal(value);
    else if (key == "offset") add_extent(decimal(value), 0);
    else if (key == "numbytes" && !extension.extents.empty()) extension.extents.back().length = decimal(value);
    else if (key == "map") {
        const auto numbers = split(value, ',');
        if (numbers.size() % 2 != 0) return false;
        for (std::size_t i = 0; i < numbers.size(); i += 2) add_extent(decimal(numbers[i]), decimal(numbers[i + 1]));
    } else return false;
    return true;
}

// Relative to the root: "" for the root itself. Throws denied for what would leave it.
std::string TarDecoder::confined_path(std::string_view path) const {
    if (path.empty()) malformed("a member without a name");
    if (path.starts_with('/') && m_root == TarRoot::no_record) leads_out(path);
    std::string clean;
    for (const auto& step : split(path, '/')) {
        if (step == "..") leads_out(path);
        if (!step.empty() && step != ".") clean += (clean.empty() ? "" : "/") + step;
    }
    if (!clean.empty() && !is_safe_tree_path(clean)) malformed("the name " + quoted(shortened(path, 256)));
    return clean;
}

std::string TarDecoder::member_path() const {
    if (!m_extension.path.empty()) return m_extension.path;
    const std::string name(tar_text(m_header.name));
    const std::string_view prefix = tar_text(m_header.prefix);
    const bool is_posix = std::string_view(m_header.magic, sizeof m_header.magic) == std::string_view("ustar\0", 6);
    return is_posix && !prefix.empty() ? std::string(prefix) + "/" + name : name;
}

void TarDecoder::start_member(TreeVisitor& visitor) {
    const std::string path = member_path();
    m_record = {};
    m_record.path = confined_path(path);
    m_record.mode = static_cast<std::uint32_t>(number({m_header.mode, sizeof m_header.mode}) & 07777);
    const auto mtime = tar_number({m_header.mtime, sizeof m_header.mtime});
    if (!mtime) malformed("a time in a header");
    m_record.mtime_seconds = *mtime;
    if (m_extension.mtime) std::tie(m_record.mtime_seconds, m_record.mtime_nanoseconds) = *m_extension.mtime;
    m_record.xattrs = std::move(m_extension.xattrs);
    if (m_extension.size) m_stored = *m_extension.size;
    const std::string link = m_extension.link.empty() ? std::string(tar_text(m_header.link)) : m_extension.link;

    switch (m_header.type) {
    case '0':
    case '\0': // before POSIX a directory was a file whose name ends in a slash
        if (path.ends_with('/')) m_record.type = TreeType::directory;
        break;
    case '7':
    case 'S': break;
    case '1':
        m_record.type = TreeType::hard_link;
        m_record.link = confined_path(link);
        if (m_record.link.empty()) malformed("a hard link to a directory");
        break;
    case '2':
        m_record.type = TreeType::symlink;
        m_record.link = link;
        if (link.empty() || link.size() > k_tree_max_link || link.find('\0') != std::string::npos) malformed("a link's target");
        break;
    case '3':
    case '4': throw Error(ErrorCode::failed, "the archive holds a device, " + quoted(path) + ", which is not made");
    case '5':
    case 'D': m_record.type = TreeType::directory; break;
    case '6': ++m_skipped; break;
    default: malformed(quoted(shortened(path, 256)) + " is of an unknown kind");
    }
    if (m_record.type == TreeType::file && m_header.type != '6') return start_file(visitor);
    if (m_record.type != TreeType::directory) m_record.xattrs.clear();
    // Links and directories have no content, whatever some writers put in their size; old GNU dumps list what a directory held.
    if (m_header.type == 'D') skip_content();
    if (m_record.path.empty() && m_record.type != TreeType::directory) malformed("a member that is no directory is called \".\"");
    const bool is_record = !m_record.path.empty() || m_root == TarRoot::record;
    if (is_record && m_header.type != '6') visitor.on_record(m_record);
    m_extension = {};
    expect(State::header, k_tar_block);
}

void TarDecoder::start_file(TreeVisitor& visitor) {
    if (m_record.path.empty()) malformed("a file is called \".\"");
    m_left = m_stored;
    if (m_header.type == 'S') {
        m_extension.is_sparse = true;
        const std::string_view header(m_gathered);
        m_extension.real_size = number(header.substr(k_gnu_real_size_at, k_number));
        add_gnu_extents(header.substr(k_gnu_map_at, k_gnu_map_entries * 2 * k_number));
        if (header[k_gnu_more_at] != '\0') return expect(State::gnu_map, k_tar_block);
    }
    if (!m_extension.has_map_in_data) return begin_content(visitor);
    m_numbers.clear();
    m_digits.clear();
    expect(State::pax_map, k_tar_block);
}

void TarDecoder::add_extent(std::uint64_t offset, std::uint64_t length) {
    if (m_extension.extents.size() >= k_max_extents) malformed("a sparse file has too many parts");
    m_extension.extents.push_back({offset, length});
}

void TarDecoder::add_gnu_extents(std::string_view entries) {
    for (; entries.size() >= 2 * k_number && entries.front() != '\0'; entries.remove_prefix(2 * k_number)) {
        add_extent(number(entries.substr(0, k_number)), number(entries.substr(k_number, k_number)));
    }
}

void TarDecoder::take_gnu_map(TreeVisitor& visitor) {
    const std::string block = std::move(m_gathered);
    add_gnu_extents(std::string_view(block).substr(0, k_gnu_block_entries * 2 * k_number));
    if (block[k_gnu_block_more_at] != '\0') return expect(State::gnu_map, k_tar_block);
    begin_content(visitor);
}

// Decimal lines: how many parts, then each one's offset and length; the rest of the last block is padding.
void TarDecoder::take_pax_map(TreeVisitor& visitor) {
    if (m_left < k_tar_block) malformed("a sparse file's map");
    m_left -= k_tar_block;
    for (const char letter : m_gathered) {
        if (letter != '\n') {
            if (m_digits.size() > 20) malformed("a sparse file's map");
            m_digits += letter;
            continue;
        }
        m_numbers.push_back(decimal(m_digits));
        m_digits.clear();
        if (m_numbers.front() > k_max_extents) malformed("a sparse file has too many parts");
        if (m_numbers.size() <= m_numbers.front() * 2) continue;
        for (std::size_t i = 1; i < m_numbers.size(); i += 2) add_extent(m_numbers[i], m_numbers[i + 1]);
        return begin_content(visitor);
    }
    expect(State::pax_map, k_tar_block);
}

void TarDecoder::check_extents() const {
    std::uint64_t at = 0;
    std::uint64_t total = 0;
    for (const Extent& extent : m_extension.extents) {
        if (extent.offset < at || extent.offset > m_record.size || extent.length > m_record.size - extent.offset) malformed("a sparse file's map");
        at = extent.offset + extent.length;
        total += extent.length;
    }
    if (total != m_left) malformed("a sparse file's map does not fit its size");
}

void TarDecoder::begin_content(TreeVisitor& visitor) {
    auto& extension = m_extension;
    m_record.sparse = extension.is_sparse;
    m_record.size = extension.is_sparse ? extension.real_size.value_or(m_stored) : m_stored;
    if (!extension.is_sparse) extension.extents = {{0, m_record.size}};
    check_extents();
    if (m_max_file && m_record.size > *m_max_file) throw_file_too_large(m_record.path, m_record.size, *m_max_file);
    visitor.on_record(m_record);
    m_extent = 0;
    m_in_extent = 0;
    expect(State::data, 0);
    if (m_left == 0) end_file(visitor);
}

void TarDecoder::take_data(std::string_view& bytes, TreeVisitor& visitor) {
    const Extent& extent = m_extension.extents[m_extent];
    if (m_in_extent == extent.length) {
        ++m_extent;
        m_in_extent = 0;
        return;
    }
    const auto piece = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), extent.length - m_in_extent)));
    visitor.on_data(extent.offset + m_in_extent, piece);
    m_in_extent += piece.size();
    m_left -= piece.size();
    bytes.remove_prefix(piece.size());
    if (m_left == 0) end_file(visitor);
}

void TarDecoder::end_file(TreeVisitor& visitor) {
    visitor.on_file_end();
    m_skip = tar_padding(m_stored);
    m_extension = {};
    expect(State::header, k_tar_block);
}

void TarDecoder::skip_content() { m_skip = m_stored + tar_padding(m_stored); }

} // namespace sandbox
