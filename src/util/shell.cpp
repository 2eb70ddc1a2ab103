// SPDX-License-Identifier: Apache-2.0
#include "util/shell.hpp"

#include <algorithm>
#include <cctype>

namespace sandbox {

std::string shell_quoted(std::string_view word) {
    const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || std::string_view("%+,-./:=@_").find(static_cast<char>(c)) != std::string_view::npos; };
    if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
    std::string text = "'";
    for (const char c : word) {
        if (c == '\'') text += "'\\''";
        else text += c;
    }
    return text + "'";
}

} // namespace sandbox
