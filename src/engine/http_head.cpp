// SPDX-License-Identifier: Apache-2.0
#include "engine/http.hpp"

#include "util/text.hpp"

#include <algorithm>
#include <cctype>

namespace sandbox::engine {
namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

[[noreturn]] void malformed(std::string_view what, std::string_view line) {
    throw Error(ErrorCode::protocol_error,
                std::string("malformed HTTP ") + std::string(what) + ": " + printable(line.substr(0, 80)));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void parse_status_line(std::string_view line, HttpHead& head) {
    const bool ok = line.size() >= 12 && line.starts_with("HTTP/1.") && is_digit(line[7]) && line[8] == ' ' &&
                    is_digit(line[9]) && is_digit(line[10]) && is_digit(line[11]) &&
                    (line.size() == 12 || line[12] == ' ');
    if (!ok) malformed("status line", line);
    head.minor_version = line[7] - '0';
    head.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
    if (head.status < 100) malformed("status line", line);
}

std::pair<std::string, std::string> parse_header(std::string_view line) {
    const auto colon = line.find(':');
    // A space in or after the name, and a folded line (which starts with one), are how requests get smuggled.
    if (colon == 0 || colon == std::string_view::npos) malformed("header", line);
    const std::string_view name = line.substr(0, colon);
    const bool ok = std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7F; });
    if (!ok) malformed("header", line);
    return {std::string(name), std::string(trim(line.substr(colon + 1)))};
}

} // namespace

std::optional<std::string_view> HttpHead::find(std::string_view name) const {
    for (const auto& [key, value] : headers) {
        if (equal_ignoring_case(key, name)) return value;
    }
    return std::nullopt;
}

bool HttpHead::has_token(std::string_view name, std::string_view token) const {
    for (const auto& [key, value] : headers) {
        if (!equal_ignoring_case(key, name)) continue;
        for (const auto& part : split(value, ',')) {
            if (equal_ignoring_case(trim(part), token)) return true;
        }
    }
    return false;
}

HttpHead parse_head(std::string_view text) {
    HttpHead head;
    bool first = true;
    while (!text.empty()) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) break;
        if (first) parse_status_line(line, head);
        else head.headers.push_back(parse_header(line));
        first = false;
    }
    if (first) malformed("status line", {});
    return head;
}

std::string request_head(std::string_view method, std::string_view target, std::string_view host,
                         const Headers& headers) {
    std::string text = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\n";
    text += "Host: " + std::string(host) + "\r\nUser-Agent: sandbox\r\n";
    for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
    return text + "\r\n";
}

std::string percent_encode(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    constexpr std::string_view unreserved = "-._~";
    std::string encoded;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool alphanumeric = byte < 0x80 && std::isalnum(byte) != 0;
        if (alphanumeric || unreserved.find(c) != std::string_view::npos) {
            encoded += c;
        } else {
            encoded += '%';
            encoded += digits[byte >> 4];
            encoded += digits[byte & 15];
        }
    }
    return encoded;
}

} // namespace sandbox::engine
