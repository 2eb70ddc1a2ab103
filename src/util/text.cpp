// SPDX-License-Identifier: Apache-2.0
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <numeric>

namespace sandbox {
namespace {

constexpr std::string_view k_base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The length of the valid UTF-8 sequence at the start of `bytes`, 0 where there is none.
std::size_t utf8_sequence(std::string_view bytes) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const unsigned char lead = at(0);
    if (lead < 0x80) return 1;
    std::size_t length = 0;
    unsigned low = 0x80;
    unsigned high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) length = 2;
    else if (lead >= 0xE0 && lead <= 0xEF) length = 3;
    else if (lead >= 0xF0 && lead <= 0xF4) length = 4;
    else return 0;
    // The second byte's range rules out overlong forms, surrogates and code points past U+10FFFF.
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    if (bytes.size() < length || at(1) < low || at(1) > high) return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if (at(i) < 0x80 || at(i) > 0xBF) return 0;
    }
    return length;
}

// Insertions, deletions, replacements, and swaps of two neighbours, each counted as one.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> above_last(b.size() + 1);
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        above_last.swap(above);
        above.swap(row);
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = above[j] + (a[i] == b[j] ? 0 : 1);
            row[j + 1] = std::min({above[j + 1] + 1, row[j] + 1, replaced});
            const bool is_swap = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
            if (is_swap) row[j + 1] = std::min(row[j + 1], above_last[j - 1] + 1);
        }
    }
    return row[b.size()];
}

void append_hex(std::string& out, unsigned char byte) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += digits[byte >> 4];
    out += digits[byte & 15];
}

} // namespace

std::string to_hex(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char byte : bytes) append_hex(text, static_cast<unsigned char>(byte));
    return text;
}

std::string base64_encode(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            group = group << 8 | (j < have ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            text += j <= have ? k_base64[group >> (18 - 6 * j) & 63] : '=';
        }
    }
    return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
    std::string bytes;
    std::uint32_t group = 0;
    std::size_t digits = 0;
    std::size_t padding = 0;
    for (const char c : text) {
        if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
        const std::size_t value = k_base64.find(c);
        if (c == '=') ++padding;
        else if (value == std::string_view::npos || padding > 0) return std::nullopt;
        group = group << 6 | (c == '=' ? 0U : static_cast<std::uint32_t>(value));
        if (++digits % 4 != 0) continue;
        if (padding > 2) return std::nullopt;
        for (std::size_t j = 0; j < 3 - padding; ++j) bytes += static_cast<char>(group >> (16 - 8 * j) & 255);
        group = 0;
    }
    if (digits % 4 != 0) return std::nullopt;
    return bytes;
}

bool is_valid_utf8(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::size_t length = utf8_sequence(bytes);
        if (length == 0) return false;
        bytes.remove_prefix(length);
    }
    return true;
}

std::string to_valid_utf8(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        const std::size_t length = utf8_sequence(bytes);
        if (length == 0) text += "\xEF\xBF\xBD";
        else text += bytes.substr(0, length);
        bytes.remove_prefix(std::max<std::size_t>(1, length));
    }
    return text;
}

std::string printable(std::string_view bytes) {
    std::string text;
    const std::string valid = to_valid_utf8(bytes);
    for (std::size_t i = 0; i < valid.size(); ++i) {
        const auto byte = static_cast<unsigned char>(valid[i]);
        // U+0080 to U+009F are control characters too; their UTF-8 form starts with C2.
        const bool is_c1 = byte == 0xC2 && static_cast<unsigned char>(valid[i + 1]) < 0xA0;
        if (byte == '\n') text += "\\n";
        else if (byte == '\t') text += "\\t";
        else if (byte == '\r') text += "\\r";
        else if (byte < 0x20 || byte == 0x7F || is_c1) {
            text += "\\x";
            append_hex(text, is_c1 ? static_cast<unsigned char>(valid[++i]) : byte);
        } else {
            text += valid[i];
        }
    }
    return text;
}

std::string quoted(std::string_view bytes) { return "\"" + printable(bytes) + "\""; }

std::string masked_urls(std::string_view text) {
    std::string masked(text);
    for (auto scheme = masked.find("://"); scheme != std::string::npos; scheme = masked.find("://", scheme + 3)) {
        const auto start = scheme + 3;
        const auto end = std::min(masked.find_first_of(" \t\r\n\"'", start), masked.size());
        const auto at = std::string_view(masked).substr(0, end).rfind('@');
        if (at != std::string::npos && at > start) std::fill(masked.begin() + start, masked.begin() + at, '*');
        const auto query = masked.find('?', start);
        if (query < end) std::fill(masked.begin() + query + 1, masked.begin() + end, '*');
    }
    return masked;
}

std::string shortened(std::string_view bytes, std::size_t most) {
    if (bytes.size() <= most) return printable(bytes);
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(bytes[end]) & 0xC0) == 0x80) --end;
    return printable(bytes.substr(0, end)) + "...";
}

std::string counted(std::uint64_t count, std::string_view noun) { return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s"); }

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
    const std::string* best = nullptr;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const auto& candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best = &candidate;
            best_distance = distance;
        }
    }
    if (best == nullptr) return std::nullopt;
    return *best;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.emplace_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) text += separator;
        text += parts[i];
    }
    return text;
}

} // namespace sandbox
