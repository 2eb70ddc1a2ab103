// SPDX-License-Identifier: Apache-2.0
// The lines in which two texts differ, and how `diff -u` writes them.
//
//   const std::string hunks = unified_hunks("a\nb\n", "a\nc\n");   // "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

// Lines with their newlines; the last one may have none.
std::vector<std::string_view> lines_of(std::string_view text);

// Lines [old_begin, old_end) of one became [new_begin, new_end) of the other.
struct DifferentLines {
    std::size_t old_begin;
    std::size_t old_end;
    std::size_t new_begin;
    std::size_t new_end;
};
// In order, with lines that are the same between them. The fewest possible, unless texts differ in so much that finding those would cost
// too much time and memory: then one range from the first to the last difference.
std::vector<DifferentLines> different_lines(const std::vector<std::string_view>& before, const std::vector<std::string_view>& after);

// With three lines around each, a text without a last newline marked as everywhere. Empty for equal texts.
std::string unified_hunks(std::string_view before, std::string_view after);

} // namespace sandbox::domain
