// SPDX-License-Identifier: Apache-2.0
// What is known of a YAML text before it is parsed, and how an error shows a place in it.
#include "domain/manifest_json.hpp"
#include "domain/yaml.hpp"

#include "util/format.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace sandbox::domain {
namespace {

constexpr std::size_t k_max_document = 4 << 20;
constexpr std::size_t k_shown_before = 80;
constexpr std::size_t k_shown_line = 160;
constexpr std::string_view k_bom = "\xEF\xBB\xBF";

std::string_view line_of(std::string_view text, std::size_t line) {
    if (text.starts_with(k_bom)) text.remove_prefix(k_bom.size());
    for (; line > 0; --line) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + 1);
    }
    text = text.substr(0, text.find('\n'));
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
}

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

// The line and, below it, a caret at `column`; a long line is cut around the place.
std::string excerpt(std::string_view line, std::size_t column) {
    column = std::min(column, line.size());
    std::size_t from = column > k_shown_before ? column - k_shown_before : 0;
    while (from > 0 && is_continuation(line[from])) --from;
    const std::string before = printable(line.substr(from, column - from));
    const std::string after = printable(line.substr(column, k_shown_line - (column - from)));
    return formatted("\n  {}{}\n  {}^", before, after, std::string(characters(before), ' '));
}

YamlMark mark_at(const std::shared_ptr<const YamlSource>& source, std::size_t offset) {
    std::string_view before = std::string_view(source->text).substr(0, offset);
    if (before.starts_with(k_bom)) before.remove_prefix(k_bom.size());
    const auto lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t start = lines == 0 ? 0 : before.rfind('\n') + 1;
    return YamlMark{source, lines, before.size() - start};
}

std::size_t first_bad_utf8(std::string_view text) {
    // Bisection over prefixes that end between characters: validity of a prefix is monotone.
    std::size_t good = 0;
    std::size_t bad = text.size();
    while (bad - good > 1) {
        std::size_t middle = good + (bad - good) / 2;
        while (middle > good && is_continuation(text[middle])) --middle;
        if (middle == good) break;
        if (is_valid_utf8(text.substr(good, middle - good))) good = middle;
        else bad = middle;
    }
    return good;
}

// The code unit of a "\uXXXX" at the start of `text`.
std::optional<std::uint32_t> unicode_escape(std::string_view text) {
    if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
    std::uint32_t unit = 0;
    const auto [end, failure] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
    if (failure != std::errc() || end != text.data() + 6) return std::nullopt;
    return unit;
}

} // namespace

Error located(const YamlMark& mark, std::string_view message) {
    if (mark.source == nullptr) return Error(ErrorCode::manifest_invalid, std::string(message));
    const YamlSource& source = *mark.source;
    if (source.origin == YamlOrigin::flag) return Error(ErrorCode::usage, formatted("{}: {}", source.name, message));
    if (source.origin == YamlOrigin::stored) {
        return Error(ErrorCode::manifest_invalid, formatted("{}: {}", source.name, message));
    }
    const std::string line = masked_urls(line_of(source.text, mark.line));
    const std::size_t column = characters(std::string_view(line).substr(0, mark.column)) + 1;
    return Error(ErrorCode::manifest_invalid, formatted("{}:{}:{}: {}{}", source.name, mark.line + 1, column, message,
                                                          excerpt(line, mark.column)));
}

std::optional<ErrorPlace> place_of(const Error& error) {
    const std::string_view message = error.message();
    const std::string_view head = message.substr(0, message.find('\n'));
    for (std::size_t colon = head.find(':'); colon != std::string_view::npos; colon = head.find(':', colon + 1)) {
        ErrorPlace place;
        const char* const end = head.data() + head.size();
        const auto line = std::from_chars(head.data() + colon + 1, end, place.line);
        if (line.ec != std::errc() || line.ptr == end || *line.ptr != ':') continue;
        const auto column = std::from_chars(line.ptr + 1, end, place.column);
        if (column.ec != std::errc() || !std::string_view(column.ptr, static_cast<std::size_t>(end - column.ptr)).starts_with(": ")) continue;
        place.file = head.substr(0, colon);
        place.message = head.substr(static_cast<std::size_t>(column.ptr - head.data()) + 2);
        return place;
    }
    return std::nullopt;
}

void check_yaml_text(const std::shared_ptr<const YamlSource>& source) {
    const std::string_view text = source->text;
    if (text.size() > k_max_document) {
        throw located(YamlMark{source, 0, 0}, "the document is over 4 MiB")
            .hint("keep big content in files of its own: files: {NAME: {fromFile: PATH}}");
    }
    if (!is_valid_utf8(text)) {
        throw located(mark_at(source, first_bad_utf8(text)), "this is not UTF-8")
            .hint("save the file as UTF-8, and binary content as {base64: ...} or {fromFile: PATH}");
    }
    // yaml-cpp takes U+0004 for the end of the file and would drop the rest in silence; YAML allows none of these.
    const auto bad = std::find_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
    });
    if (bad == text.end()) return;
    throw located(mark_at(source, static_cast<std::size_t>(bad - text.begin())),
                  formatted("control character 0x{:02x}, which YAML does not allow", static_cast<unsigned char>(*bad)))
        .hint("write it as an escape in double quotes, or binary content as {base64: ...}");
}

std::string with_joined_surrogates(std::string_view text) {
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos || text[start] != '{' || text.find("\\u") == std::string_view::npos ||
        !is_json(text)) {
        return std::string(text);
    }
    std::string joined;
    joined.reserve(text.size());
    while (!text.empty()) {
        const auto high = unicode_escape(text);
        const auto low = high && text.size() >= 12 ? unicode_escape(text.substr(6)) : std::nullopt;
        if (low && *high >= 0xD800 && *high < 0xDC00 && *low >= 0xDC00 && *low < 0xE000) {
            joined += formatted("\\U{:08X}", 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00));
            text.remove_prefix(12);
            continue;
        }
        // A backslash and what it escapes go together, so that the second of "\\u" starts no escape.
        const std::size_t length = text.front() == '\\' && text.size() > 1 ? 2 : 1;
        joined += text.substr(0, length);
        text.remove_prefix(length);
    }
    return joined;
}

} // namespace sandbox::domain
