// SPDX-License-Identifier: Apache-2.0
// Text rules shared by every layer: encodings, what may reach a terminal, and spelling help.
//
//   std::cerr << printable(name_from_container);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox {

std::string to_hex(std::string_view bytes);
std::string base64_encode(std::string_view bytes);
// RFC 4648 with padding; white space is skipped. Absent when the text is not base64.
std::optional<std::string> base64_decode(std::string_view text);
// RFC 3629: no overlong forms, no surrogates.
bool is_valid_utf8(std::string_view bytes);
// Valid UTF-8 always: each bad sequence becomes one U+FFFD.
std::string to_valid_utf8(std::string_view bytes);
// Safe to show on a terminal: valid UTF-8 with control characters (newline and tab included) as \n, \t, \x1b.
std::string printable(std::string_view bytes);
// The same in double quotes, as a name or a path stands in a message.
std::string quoted(std::string_view bytes);
// printable(), cut after `most` bytes at the start of a character, with "..." where something was cut.
std::string shortened(std::string_view bytes, std::size_t most);
// What may be a secret in each URL (what stands before an "@", and all after a "?") as asterisks, one for each byte.
std::string masked_urls(std::string_view text);
// "1 file", "2 files".
std::string counted(std::uint64_t count, std::string_view noun);
// The candidate nearest to `word` by edit distance, when it is near enough to be a likely misspelling.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);
std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

} // namespace sandbox
