// SPDX-License-Identifier: Apache-2.0
#include "util/file_page.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <unistd.h>

namespace sandbox {
namespace {

constexpr std::size_t k_block = 256 << 10;
constexpr std::uint64_t k_longest_character = 4;

std::uint64_t sum(std::uint64_t one, std::uint64_t other) { return one > UINT64_MAX - other ? UINT64_MAX : one + other; }

std::size_t read_at(int fd, std::uint64_t offset, std::span<char> buffer) {
    for (;;) {
        const ssize_t count = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
        if (count >= 0) return static_cast<std::size_t>(count);
        if (errno != EINTR) throw errno_error("cannot read the file");
    }
}

// Where the next byte that is not in a hole may be.
std::uint64_t past_hole(int fd, std::uint64_t offset, std::uint64_t end) {
    const off_t data = ::lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
    if (data >= 0) return std::clamp(static_cast<std::uint64_t>(data), offset, end);
    return errno == ENXIO ? end : offset; // ENXIO: a hole to the end of the file; anything else: no holes are known here
}

std::uint64_t length_of_character(unsigned char lead) {
    if (lead >= 0xF0) return 4;
    if (lead >= 0xE0) return 3;
    return lead >= 0xC0 ? 2 : 1;
}

// The last place up to `at` that is in no character of UTF-8, or `at` itself where the bytes around it are none or nothing would be left.
std::uint64_t character_boundary(int fd, std::uint64_t begin, std::uint64_t at) {
    const std::uint64_t from = std::max(begin, at - std::min(at, k_longest_character - 1));
    char bytes[2 * k_longest_character];
    const std::string_view around(bytes, read_at(fd, from, bytes));
    for (std::uint64_t start = at; start > from;) {
        const std::uint64_t place = --start - from;
        if (place >= around.size()) return at;
        const auto byte = static_cast<unsigned char>(around[place]);
        if ((byte & 0xC0) == 0x80) continue;
        const std::uint64_t length = length_of_character(byte);
        const bool is_cut = start + length > at && place + length <= around.size() && is_valid_utf8(around.substr(place, length));
        return is_cut && start > begin ? start : at;
    }
    return at;
}

class LinePage {
  public:
    LinePage(int fd, std::uint64_t size, const PageWanted& wanted, const std::function<void()>& check)
        : m_fd(fd), m_wanted(wanted), m_check(check), m_block(new char[k_block]) {
        m_page.size = size;
    }

    PageRange find() {
        const Scan before = scan(0, m_page.size, m_wanted.start - 1);
        m_page.begin = m_page.end = before.newlines == m_wanted.start - 1 ? before.at : m_page.size;
        if (m_page.begin >= m_page.size || m_wanted.count == 0) return m_page;
        const std::uint64_t most = std::min(m_page.size, sum(m_page.begin, m_wanted.max_bytes));
        const Scan inside = scan(m_page.begin, most, m_wanted.count);
        m_page.lines = inside.newlines;
        if (inside.newlines == m_wanted.count || most >= m_page.size) take_whole(inside);
        else take_part(inside, most);
        return m_page;
    }

  private:
    struct Scan {
        std::uint64_t newlines = 0;
        std::uint64_t after_last = 0; // behind the last of them
        std::uint64_t at = 0;         // where it stopped: behind the last one wanted, or at its end
    };

    Scan scan(std::uint64_t from, std::uint64_t to, std::uint64_t most) {
        Scan found{0, from, from};
        while (found.newlines < most && found.at < to) {
            m_check();
            found.at = past_hole(m_fd, found.at, to);
            const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(k_block, to - found.at));
            const std::size_t count = read_at(m_fd, found.at, {m_block.get(), wanted});
            if (count == 0 && wanted > 0) m_page.size = to = found.at; // it is shorter by now
            take_block({m_block.get(), count}, most, found);
        }
        return found;
    }

    static void take_block(std::string_view bytes, std::uint64_t most, Scan& found) {
        for (std::size_t at = 0; found.newlines < most;) {
            const auto newline = bytes.find('\n', at);
            if (newline == std::string_view::npos) break;
            at = newline + 1;
            ++found.newlines;
            found.after_last = found.at + at;
        }
        found.at = found.newlines == most ? found.after_last : found.at + bytes.size();
    }

    // All that was asked for, or up to the end of the file.
    void take_whole(const Scan& scan) {
        m_page.end = std::min(scan.at, m_page.size);
        if (scan.newlines < m_wanted.count && m_page.end > scan.after_last) ++m_page.lines; // the last line, without a newline
        if (m_page.end < m_page.size) m_page.next_line = m_wanted.start + m_page.lines;
    }

    void take_part(const Scan& scanned, std::uint64_t most) {
        m_page.truncated = true;
        m_page.end = scanned.after_last;
        m_page.next_line = m_wanted.start + scanned.newlines;
        if (scanned.newlines > 0) return;
        m_page.line_cut = true;
        m_page.lines = 1;
        m_page.end = character_boundary(m_fd, m_page.begin, most);
        const Scan rest = scan(most, m_page.size, 1);
        m_page.next_line = rest.newlines > 0 && rest.at < m_page.size ? m_wanted.start + 1 : 0;
    }

    int m_fd;
    const PageWanted& m_wanted;
    const std::function<void()>& m_check;
    std::unique_ptr<char[]> m_block;
    PageRange m_page;
};

// Past what is left at `at` of a character that begins before it.
std::uint64_t next_character(int fd, std::uint64_t at) {
    char bytes[k_longest_character - 1];
    const std::string_view found(bytes, read_at(fd, at, bytes));
    const auto first = std::ranges::find_if(found, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    return at + static_cast<std::uint64_t>(first - found.begin());
}

// From the end on, so that only what is wanted is read. The newline at the very end begins no line.
PageRange last_lines(int fd, std::uint64_t size, const PageWanted& wanted, const std::function<void()>& check) {
    PageRange page{.size = size, .begin = size, .end = size};
    if (wanted.count == 0 || size == 0) return page;
    const std::uint64_t lowest = size - std::min(size, wanted.max_bytes);
    const std::uint64_t last_looked_at = lowest > 0 ? lowest - 1 : 0;
    const std::unique_ptr<char[]> block(new char[k_block]);
    for (std::uint64_t at = size - 1; at > last_looked_at;) {
        check();
        const std::uint64_t from = at - std::min<std::uint64_t>(k_block, at - last_looked_at);
        if (past_hole(fd, from, at) < at) {
            std::string_view bytes(block.get(), read_at(fd, from, {block.get(), static_cast<std::size_t>(at - from)}));
            for (auto newline = bytes.rfind('\n'); newline != std::string_view::npos; newline = bytes.rfind('\n')) {
                page.begin = from + newline + 1;
                if (++page.lines == wanted.count) return page;
                bytes = bytes.substr(0, newline);
            }
        }
        at = from;
    }
    if (lowest == 0) {
        page.begin = 0;
        ++page.lines;
        return page;
    }
    page.truncated = true;
    page.line_cut = page.lines == 0;
    if (page.line_cut) page.lines = 1;
    if (page.line_cut) page.begin = next_character(fd, lowest);
    return page;
}

} // namespace

PageRange find_page(int fd, std::uint64_t size, const PageWanted& wanted, const std::function<void()>& check) {
    if (wanted.unit == PageUnit::last_lines) return last_lines(fd, size, wanted, check);
    if (wanted.unit == PageUnit::lines) return LinePage(fd, size, wanted, check).find();
    PageRange page;
    page.size = size;
    page.begin = std::min(wanted.start, size);
    page.end = std::min(size, sum(page.begin, wanted.count));
    if (page.end - page.begin > wanted.max_bytes) {
        page.truncated = true;
        page.end = character_boundary(fd, page.begin, page.begin + wanted.max_bytes);
    }
    return page;
}

} // namespace sandbox
