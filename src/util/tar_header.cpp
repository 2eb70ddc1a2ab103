// SPDX-License-Identifier: Apache-2.0
#include "util/tar_header.hpp"

#include <charconv>

namespace sandbox {
namespace {

std::optional<std::int64_t> base_256(std::string_view field) {
    const auto first = static_cast<unsigned char>(field.front());
    const bool is_negative = (first & 0x40) != 0;
    std::uint64_t value = is_negative ? ~std::uint64_t{0} : 0;
    const unsigned char fill = is_negative ? 0xFF : 0;
    for (std::size_t i = 0; i < field.size(); ++i) {
        // The first byte's top bit only marks the form; below it, and above the 64 bits, all repeat the sign.
        const auto byte = static_cast<unsigned char>(i == 0 ? (first & 0x7F) | (is_negative ? 0x80 : 0) : static_cast<unsigned char>(field[i]));
        if (field.size() - i > sizeof value && byte != fill) return std::nullopt;
        value = value << 8 | byte;
    }
    const auto number = static_cast<std::int64_t>(value);
    if ((number < 0) != is_negative) return std::nullopt;
    return number;
}

std::uint64_t checksum_of(const TarHeader& header) {
    TarHeader blank = header;
    std::memset(blank.checksum, ' ', sizeof blank.checksum);
    unsigned char bytes[k_tar_block];
    std::memcpy(bytes, &blank, k_tar_block);
    std::uint64_t sum = 0;
    for (const unsigned char byte : bytes) sum += byte;
    return sum;
}

} // namespace

std::optional<std::int64_t> tar_number(std::string_view field) {
    if (!field.empty() && (static_cast<unsigned char>(field.front()) & 0x80) != 0) return base_256(field);
    while (field.starts_with(' ')) field.remove_prefix(1);
    field = field.substr(0, field.find_first_of(std::string_view(" \0", 2)));
    if (field.empty()) return 0; // what some writers leave blank
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, 8);
    if (error != std::errc() || end != field.data() + field.size() || value < 0) return std::nullopt;
    return value;
}

void put_tar_number(std::span<char> field, std::uint64_t value) {
    std::uint64_t rest = value;
    field.back() = '\0';
    for (std::size_t i = field.size() - 1; i-- > 0; rest >>= 3) field[i] = static_cast<char>('0' + (rest & 7));
    if (rest == 0) return;
    for (std::size_t i = field.size(); i-- > 0; value >>= 8) field[i] = static_cast<char>(value & 0xFF);
    field.front() = static_cast<char>(0x80);
}

void put_tar_checksum(TarHeader& header) {
    char digits[7];
    put_tar_number(digits, checksum_of(header));
    std::memcpy(header.checksum, digits, sizeof digits);
    header.checksum[sizeof digits] = ' ';
}

bool has_right_checksum(const TarHeader& header) {
    const auto stored = tar_number({header.checksum, sizeof header.checksum});
    return stored && *stored == static_cast<std::int64_t>(checksum_of(header));
}

std::string pax_record(std::string_view key, std::string_view value) {
    const std::size_t rest = key.size() + value.size() + 3; // the space, '=' and newline
    std::size_t length = rest + 1;
    while (std::to_string(length).size() + rest != length) length = std::to_string(length).size() + rest;
    return std::to_string(length) + " " + std::string(key) + "=" + std::string(value) + "\n";
}

bool for_each_pax_record(std::string_view text, const std::function<void(std::string_view, std::string_view)>& each) {
    while (!text.empty()) {
        std::size_t length = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
        const auto digits = static_cast<std::size_t>(end - text.data());
        if (error != std::errc() || length > text.size() || length < digits + 3 || text[digits] != ' ' || text[length - 1] != '\n') return false;
        const std::string_view record = text.substr(digits + 1, length - digits - 2);
        const auto equals = record.find('=');
        if (equals == 0 || equals == std::string_view::npos) return false;
        each(record.substr(0, equals), record.substr(equals + 1));
        text.remove_prefix(length);
    }
    return true;
}

} // namespace sandbox
