// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal_text.hpp"

#include "util/text.hpp"

#include <algorithm>
#include <vector>

namespace sandbox::cli {
namespace {

constexpr std::size_t k_longest_character = 4;

// How many bytes at the end are the beginning of a character that may go on.
std::size_t begun_character(std::string_view text) {
    for (std::size_t back = 1; back <= std::min(k_longest_character - 1, text.size()); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xC0) == 0x80) continue;
        const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

} // namespace

std::string for_terminal(std::string_view text) {
    std::vector<std::string> lines = split(text, '\n');
    for (auto& line : lines) {
        std::vector<std::string> parts = split(line, '\t');
        for (auto& part : parts) part = printable(part);
        line = join(parts, "\t");
    }
    return join(lines, "\n");
}

std::string TerminalText::add(std::string_view bytes) {
    m_held += bytes;
    const std::size_t whole = m_held.size() - begun_character(m_held);
    std::string text = for_terminal(std::string_view(m_held).substr(0, whole));
    m_held.erase(0, whole);
    return text;
}

} // namespace sandbox::cli
