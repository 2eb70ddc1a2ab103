// SPDX-License-Identifier: Apache-2.0
// Pages of a file: which of its bytes are some lines of it, found without holding more than a block of them, however long the file or a
// line is.
//
//   const PageRange page = find_page(fd, size, {.unit = PageUnit::lines, .start = 101, .count = 50});
//   send(fd, page.begin, page.end); if (page.next_line != 0) say(page.next_line);
#pragma once

#include <cstdint>
#include <functional>

namespace sandbox {

enum class PageUnit : std::uint8_t { bytes, lines, last_lines };

struct PageWanted {
    PageUnit unit = PageUnit::bytes;
    std::uint64_t start = 0;              // an offset from 0 on, or the number of a line from 1 on; of the last lines nothing
    std::uint64_t count = UINT64_MAX;     // of bytes, or lines
    std::uint64_t max_bytes = UINT64_MAX; // never more than these, whatever is asked for
};

struct PageRange {
    std::uint64_t size = 0; // of the file
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t lines = 0;     // in the page, one that was cut counted; pages of bytes: 0
    std::uint64_t next_line = 0; // the first one after it; 0: none, a page of bytes, or the last lines
    bool truncated = false;      // max_bytes kept something out that was asked for
    bool line_cut = false;       // the page is the start of one line, too long for max_bytes; of the last lines: its end
};

// The page of a regular file that is `size` bytes long. A line ends behind its newline, the last one may be without. What is past the end
// is an empty page. Where max_bytes cuts, whole lines stay whole and characters of UTF-8 too; only a line that is longer than all of max_bytes
// is cut, so that whoever goes on from page to page gets on. Of the last lines, which are looked for from the end on, max_bytes keeps the last.
// `check` is called for each block that is read and may throw.
// Throws Error when reading fails.
PageRange find_page(int fd, std::uint64_t size, const PageWanted& wanted, const std::function<void()>& check);

} // namespace sandbox
