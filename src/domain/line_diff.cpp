// SPDX-License-Identifier: Apache-2.0
#include "domain/line_diff.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace sandbox::domain {
namespace {

constexpr std::size_t k_context = 3;
constexpr std::size_t k_most_lines = 50'000; // of both texts together, beyond which the fewest changes are not looked for
constexpr int k_most_edits = 1000;           // the trace of so many steps takes 2 MB

using Ids = std::vector<std::uint32_t>;

// E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986): the furthest points that d edits reach on each diagonal.
class Myers {
  public:
    Myers(const Ids& before, const Ids& after) : m_before(before), m_after(after) {}

    // Absent when it takes more than k_most_edits.
    std::optional<std::vector<DifferentLines>> run() {
        const int most = std::min(k_most_edits, old_size() + new_size());
        m_furthest.assign(static_cast<std::size_t>(2 * most + 3), 0);
        m_middle = most + 1;
        for (int edits = 0; edits <= most; ++edits) {
            if (step(edits)) return trace_back(edits);
        }
        return std::nullopt;
    }

  private:
    int old_size() const { return static_cast<int>(m_before.size()); }
    int new_size() const { return static_cast<int>(m_after.size()); }
    int& furthest(int diagonal) { return m_furthest[static_cast<std::size_t>(m_middle + diagonal)]; }
    static bool comes_down(int diagonal, int edits, int left, int right) { return diagonal == -edits || (diagonal != edits && left < right); }

    bool step(int edits) {
        m_trace.emplace_back(m_furthest.begin() + m_middle - edits - 1, m_furthest.begin() + m_middle + edits + 2);
        for (int diagonal = -edits; diagonal <= edits; diagonal += 2) {
            const int left = furthest(diagonal - 1);
            const int right = furthest(diagonal + 1);
            int x = comes_down(diagonal, edits, left, right) ? right : left + 1;
            int y = x - diagonal;
            while (x < old_size() && y < new_size() && m_before[static_cast<std::size_t>(x)] == m_after[static_cast<std::size_t>(y)]) {
                ++x;
                ++y;
            }
            furthest(diagonal) = x;
            if (x >= old_size() && y >= new_size()) return true;
        }
        return false;
    }

    std::vector<DifferentLines> trace_back(int edits) const {
        std::vector<DifferentLines> found;
        int x = old_size();
        int y = new_size();
        for (; edits > 0; --edits) {
            const auto& before = m_trace[static_cast<std::size_t>(edits)];
            const auto at = [&](int diagonal) { return before[static_cast<std::size_t>(diagonal + edits + 1)]; };
            const int diagonal = x - y;
            const bool down = comes_down(diagonal, edits, at(diagonal - 1), at(diagonal + 1));
            const int from = down ? diagonal + 1 : diagonal - 1;
            const int from_x = at(from);
            const int from_y = from_x - from;
            add(found, from_x, down ? from_x : from_x + 1, from_y, down ? from_y + 1 : from_y);
            x = from_x;
            y = from_y;
        }
        std::reverse(found.begin(), found.end());
        return found;
    }

    // Found from the last to the first; what touches becomes one.
    static void add(std::vector<DifferentLines>& found, int old_begin, int old_end, int new_begin, int new_end) {
        const DifferentLines one{static_cast<std::size_t>(old_begin), static_cast<std::size_t>(old_end), static_cast<std::size_t>(new_begin),
                                 static_cast<std::size_t>(new_end)};
        if (!found.empty() && found.back().old_begin == one.old_end && found.back().new_begin == one.new_end) {
            found.back().old_begin = one.old_begin;
            found.back().new_begin = one.new_begin;
        } else {
            found.push_back(one);
        }
    }

    const Ids& m_before;
    const Ids& m_after;
    std::vector<int> m_furthest;
    int m_middle = 0;
    std::vector<std::vector<int>> m_trace; // the furthest points before each step, as far as it looks
};

void append_line(std::string& text, char mark, std::string_view line) {
    text += mark;
    text += line;
    if (!line.ends_with('\n')) text += "\n\\ No newline at end of file\n";
}

// "12,3" as a hunk's header has it: a range without lines stands after the line before it.
std::string range(std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    if (count == 1) return std::to_string(begin + 1);
    return std::to_string(count == 0 ? begin : begin + 1) + "," + std::to_string(count);
}

} // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

std::vector<DifferentLines> different_lines(const std::vector<std::string_view>& before, const std::vector<std::string_view>& after) {
    const std::size_t shorter = std::min(before.size(), after.size());
    std::size_t head = 0;
    while (head < shorter && before[head] == after[head]) ++head;
    std::size_t tail = 0;
    while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;
    const DifferentLines whole{head, before.size() - tail, head, after.size() - tail};
    if (whole.old_begin == whole.old_end && whole.new_begin == whole.new_end) return {};
    if (whole.old_begin == whole.old_end || whole.new_begin == whole.new_end) return {whole};
    if (whole.old_end - whole.old_begin + whole.new_end - whole.new_begin > k_most_lines) return {whole};
    std::unordered_map<std::string_view, std::uint32_t> known;
    const auto ids = [&](const std::vector<std::string_view>& lines, std::size_t begin, std::size_t end) {
        Ids found;
        for (; begin < end; ++begin) found.push_back(known.try_emplace(lines[begin], static_cast<std::uint32_t>(known.size())).first->second);
        return found;
    };
    const Ids old_ids = ids(before, whole.old_begin, whole.old_end);
    const Ids new_ids = ids(after, whole.new_begin, whole.new_end);
    auto found = Myers(old_ids, new_ids).run();
    if (!found) return {whole};
    for (auto& one : *found) {
        one = {one.old_begin + head, one.old_end + head, one.new_begin + head, one.new_end + head};
    }
    return *found;
}

std::string unified_hunks(std::string_view before, std::string_view after) {
    const auto old_lines = lines_of(before);
    const auto new_lines = lines_of(after);
    const auto found = different_lines(old_lines, new_lines);
    std::string text;
    for (std::size_t i = 0; i < found.size();) {
        std::size_t last = i;
        while (last + 1 < found.size() && found[last + 1].old_begin - found[last].old_end <= 2 * k_context) ++last;
        const std::size_t lead = std::min(k_context, found[i].old_begin);
        const std::size_t trail = std::min(k_context, old_lines.size() - found[last].old_end);
        text += "@@ -" + range(found[i].old_begin - lead, found[last].old_end + trail) + " +" +
                range(found[i].new_begin - lead, found[last].new_end + trail) + " @@\n";
        std::size_t at = found[i].old_begin - lead;
        for (; i <= last; ++i) {
            for (; at < found[i].old_begin; ++at) append_line(text, ' ', old_lines[at]);
            for (; at < found[i].old_end; ++at) append_line(text, '-', old_lines[at]);
            for (std::size_t line = found[i].new_begin; line < found[i].new_end; ++line) append_line(text, '+', new_lines[line]);
        }
        for (const std::size_t end = at + trail; at < end; ++at) append_line(text, ' ', old_lines[at]);
    }
    return text;
}

} // namespace sandbox::domain
