// SPDX-License-Identifier: Apache-2.0
#include "app/capture.hpp"

#include "util/text.hpp"

#include <algorithm>

namespace sandbox::app {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// A cut between head and tail may go through a character: its pieces are given up with what was dropped.
void trim_cut_end(std::string& head) {
    for (std::size_t back = 1; back <= std::min<std::size_t>(4, head.size()); ++back) {
        const std::string_view tail = std::string_view(head).substr(head.size() - back);
        if (is_continuation(tail.front())) continue;
        if (!is_valid_utf8(tail)) head.resize(head.size() - back);
        return;
    }
}

void trim_cut_start(std::string& tail) {
    std::size_t skip = 0;
    while (skip < std::min<std::size_t>(3, tail.size()) && is_continuation(tail[skip])) ++skip;
    tail.erase(0, skip);
}

} // namespace

Capture::Capture(std::uint64_t limit)
    : m_head_limit(static_cast<std::size_t>(limit - limit / 2)), m_tail_limit(static_cast<std::size_t>(limit / 2)) {}

void Capture::add(std::string_view bytes) {
    m_total += bytes.size();
    const std::size_t to_head = std::min(bytes.size(), m_head_limit - m_head.size());
    m_head.append(bytes.substr(0, to_head));
    bytes.remove_prefix(to_head);
    if (bytes.size() > m_tail_limit) bytes.remove_prefix(bytes.size() - m_tail_limit);
    const std::size_t growth = std::min(bytes.size(), m_tail_limit - m_tail.size());
    m_tail.append(bytes.substr(0, growth));
    bytes.remove_prefix(growth);
    while (!bytes.empty()) {
        const std::size_t count = std::min(bytes.size(), m_tail.size() - m_tail_start);
        std::copy_n(bytes.data(), count, m_tail.data() + m_tail_start);
        m_tail_start = (m_tail_start + count) % m_tail.size();
        bytes.remove_prefix(count);
    }
}

std::string Capture::joined_tail() const { return m_tail.substr(m_tail_start) + m_tail.substr(0, m_tail_start); }

CapturedText Capture::text() const {
    CapturedText result;
    result.bytes = m_total;
    std::string head = m_head;
    std::string tail = joined_tail();
    if (head.size() + tail.size() < m_total) {
        std::string whole_head = head;
        std::string whole_tail = tail;
        trim_cut_end(whole_head);
        trim_cut_start(whole_tail);
        if (is_valid_utf8(whole_head) && is_valid_utf8(whole_tail)) {
            head = std::move(whole_head);
            tail = std::move(whole_tail);
        }
        result.dropped = m_total - head.size() - tail.size();
        head += "\n[... " + std::to_string(result.dropped) + " bytes left out ...]\n";
    }
    head += tail;
    result.is_base64 = !is_valid_utf8(head);
    result.text = result.is_base64 ? base64_encode(head) : std::move(head);
    return result;
}

} // namespace sandbox::app
