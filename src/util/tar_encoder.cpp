// SPDX-License-Identifier: Apache-2.0
#include "util/tar_encoder.hpp"

#include "util/tar_header.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace sandbox {
namespace {

constexpr std::size_t k_chunk = 64 << 10;
constexpr std::uint32_t k_mode_mask = 01777; // as for every copy that leaves a session
constexpr std::uint64_t k_max_octal = 0777'7777'7777;

constexpr char k_types[] = {'0', '5', '2', '1'}; // by TreeType

bool is_plain_time(const TreeRecord& record) {
    return record.mtime_nanoseconds == 0 && record.mtime_seconds >= 0 && static_cast<std::uint64_t>(record.mtime_seconds) <= k_max_octal;
}

std::string decimal_time(const TreeRecord& record) {
    std::int64_t seconds = record.mtime_seconds;
    std::uint32_t nanoseconds = record.mtime_nanoseconds;
    const bool is_negative = seconds < 0;
    if (is_negative && nanoseconds > 0) {
        ++seconds;
        nanoseconds = 1'000'000'000 - nanoseconds;
    }
    std::string text = std::to_string(seconds);
    if (is_negative && seconds == 0) text = "-0";
    if (nanoseconds == 0) return text;
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%09u", nanoseconds);
    return text + fraction;
}

TarHeader header_of(std::string_view path, char type, std::uint64_t size) {
    TarHeader header{};
    path.copy(header.name, sizeof header.name);
    put_tar_number(header.uid, ::geteuid());
    put_tar_number(header.gid, ::getegid());
    put_tar_number(header.size, size);
    put_tar_number(header.mtime, 0);
    header.type = type;
    std::memcpy(header.magic, "ustar", sizeof header.magic);
    std::memcpy(header.version, "00", sizeof header.version);
    return header;
}

std::string_view as_bytes(const TarHeader& header) { return {reinterpret_cast<const char*>(&header), sizeof header}; }

} // namespace

TarEncoder::TarEncoder(Emit emit, std::string root) : m_emit(std::move(emit)), m_root(std::move(root)) { m_buffer.reserve(k_chunk); }

std::string TarEncoder::path_of(std::string_view path) const { return path.empty() ? m_root : m_root + "/" + std::string(path); }

void TarEncoder::on_record(const TreeRecord& record) {
    const bool is_directory = record.type == TreeType::directory;
    const std::string link = record.type == TreeType::hard_link ? path_of(record.link) : record.link;
    put_header(record, path_of(record.path) + (is_directory ? "/" : ""), link);
    if (!is_directory) ++m_counts.files;
    m_position = 0;
    m_size = record.size;
}

void TarEncoder::put_header(const TreeRecord& record, const std::string& path, const std::string& link) {
    TarHeader header = header_of(path, k_types[static_cast<int>(record.type) - 1], record.size);
    std::string pax;
    if (path.size() > sizeof header.name) pax += pax_record("path", path);
    if (link.size() > sizeof header.link) pax += pax_record("linkpath", link);
    if (record.size > k_max_octal) pax += pax_record("size", std::to_string(record.size));
    if (is_plain_time(record)) put_tar_number(header.mtime, static_cast<std::uint64_t>(record.mtime_seconds));
    else {
        // For readers that know no pax headers: whole seconds, where the field can hold them.
        put_tar_number(header.mtime, std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(record.mtime_seconds, 0)), k_max_octal));
        pax += pax_record("mtime", decimal_time(record));
    }
    for (const auto& xattr : record.xattrs) pax += pax_record("SCHILY.xattr." + xattr.name, xattr.value);
    if (!pax.empty()) {
        TarHeader extension = header_of("PaxHeaders/" + path.substr(0, 80), 'x', pax.size());
        put_tar_number(extension.mode, 0644);
        put_tar_checksum(extension);
        put(as_bytes(extension));
        put(pax);
        put_zeros(tar_padding(pax.size()));
    }
    put_tar_number(header.mode, record.mode & k_mode_mask);
    link.copy(header.link, sizeof header.link);
    put_tar_checksum(header);
    put(as_bytes(header));
}

void TarEncoder::on_data(std::uint64_t offset, std::string_view bytes) {
    put_zeros(offset - m_position);
    put(bytes);
    m_position = offset + bytes.size();
    m_counts.bytes += bytes.size();
}

void TarEncoder::on_file_end() { put_zeros(m_size - m_position + tar_padding(m_size)); }

void TarEncoder::finish() {
    put_zeros(2 * k_tar_block);
    m_emit(m_buffer);
    m_buffer.clear();
}

void TarEncoder::put(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto piece = bytes.substr(0, k_chunk - m_buffer.size());
        m_buffer += piece;
        bytes.remove_prefix(piece.size());
        if (m_buffer.size() < k_chunk) return;
        m_emit(m_buffer);
        m_buffer.clear();
    }
}

void TarEncoder::put_zeros(std::uint64_t count) {
    static constexpr char k_zeros[k_chunk] = {};
    for (; count > 0; count -= std::min<std::uint64_t>(count, k_chunk)) {
        put({k_zeros, static_cast<std::size_t>(std::min<std::uint64_t>(count, k_chunk))});
    }
}

} // namespace sandbox
