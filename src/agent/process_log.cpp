// SPDX-License-Identifier: Apache-2.0
#include "agent/process_log.hpp"

#include <algorithm>

namespace sandbox::agent {
namespace {

constexpr std::size_t k_piece = 16 << 10;
// Writes that follow each other this closely share a record and its time: a program that prints byte by byte must not cost a
// record for each.
constexpr std::int64_t k_moment_ms = 10;
// What a record costs beside its bytes. A stream that changes with the other at each byte keeps fewer of them instead of growing.
constexpr std::size_t k_record_cost = 96;
constexpr std::size_t k_overhead_factor = 2;

} // namespace

void ProcessLog::add(LogStream stream, std::string_view bytes, std::int64_t wall_ms) {
    Kept& kept = m_streams[stream == LogStream::err ? 1 : 0];
    // What would be dropped at once is not copied first.
    if (bytes.size() > m_limit) {
        m_end += bytes.size() - m_limit;
        bytes.remove_prefix(bytes.size() - m_limit);
    }
    while (!bytes.empty()) {
        const std::string_view piece = bytes.substr(0, k_piece);
        append(kept, piece, wall_ms);
        bytes.remove_prefix(piece.size());
    }
    shrink(kept);
}

void ProcessLog::append(Kept& kept, std::string_view bytes, std::int64_t wall_ms) {
    Record* last = kept.records.empty() ? nullptr : &kept.records.back();
    const bool continues = last != nullptr && last->end() == m_end && last->bytes.size() + bytes.size() <= k_piece &&
                           wall_ms >= last->wall_ms && wall_ms - last->wall_ms < k_moment_ms;
    if (continues) last->bytes += bytes;
    else kept.records.push_back({m_end, wall_ms, std::string(bytes)});
    if (kept.records.size() == 1 && !continues) kept.from = m_end;
    kept.bytes += bytes.size();
    m_end += bytes.size();
}

void ProcessLog::shrink(Kept& kept) const {
    while (kept.bytes > m_limit) {
        const Record& first = kept.records.front();
        const std::size_t there = first.end() - kept.from;
        const std::size_t surplus = kept.bytes - m_limit;
        if (surplus >= there) {
            drop_first(kept);
            continue;
        }
        kept.from += surplus;
        kept.bytes -= surplus;
    }
    while (kept.records.size() > 1 && kept.records.size() * k_record_cost > std::max(m_limit, k_piece) * k_overhead_factor) drop_first(kept);
}

void ProcessLog::drop_first(Kept& kept) {
    kept.bytes -= kept.records.front().end() - kept.from;
    kept.records.pop_front();
    if (!kept.records.empty()) kept.from = kept.records.front().offset;
}

// The record that holds `offset`, or the first one behind it.
const ProcessLog::Record* ProcessLog::find(const Kept& kept, std::uint64_t offset) {
    const auto found = std::partition_point(kept.records.begin(), kept.records.end(), [offset](const Record& one) { return one.end() <= offset; });
    return found == kept.records.end() ? nullptr : &*found;
}

std::optional<LogFrame> ProcessLog::at(std::uint64_t offset, std::size_t most) const {
    std::optional<LogFrame> first;
    for (const LogStream stream : {LogStream::out, LogStream::err}) {
        const Kept& kept = m_streams[stream == LogStream::err ? 1 : 0];
        const Record* record = find(kept, std::max(offset, kept.from));
        if (record == nullptr) continue;
        const std::uint64_t start = std::max({offset, record->offset, record == &kept.records.front() ? kept.from : 0});
        if (first && first->offset < start) continue;
        const std::string_view bytes = std::string_view(record->bytes).substr(start - record->offset, most);
        first = LogFrame{.stream = stream, .offset = start, .time_ms = record->wall_ms, .bytes = bytes};
    }
    return first;
}

std::uint64_t ProcessLog::since(std::int64_t wall_ms) const {
    std::uint64_t start = m_end;
    for (const Kept& kept : m_streams) {
        // The wall clock may have been set back meanwhile: what was printed later is never left out for it.
        const auto found = std::find_if(kept.records.begin(), kept.records.end(), [wall_ms](const Record& one) { return one.wall_ms >= wall_ms; });
        if (found != kept.records.end()) start = std::min(start, found == kept.records.begin() ? kept.from : found->offset);
    }
    return start;
}

std::uint64_t ProcessLog::tail(std::uint32_t lines) const {
    if (lines == 0) return m_end;
    std::array<std::size_t, 2> left{m_streams[0].records.size(), m_streams[1].records.size()};
    std::uint64_t found = 0;
    while (left[0] + left[1] > 0) {
        const bool from_err = left[0] == 0 || (left[1] > 0 && m_streams[1].records[left[1] - 1].offset > m_streams[0].records[left[0] - 1].offset);
        const Kept& kept = m_streams[from_err ? 1 : 0];
        const Record& record = kept.records[--left[from_err ? 1 : 0]];
        for (std::size_t i = record.bytes.size(); i > 0; --i) {
            const std::uint64_t behind = record.offset + i;
            if (&record == &kept.records.front() && behind <= kept.from) break;
            // The end of the last line begins no other.
            if (record.bytes[i - 1] != '\n' || behind == m_end) continue;
            if (++found == lines) return behind;
        }
    }
    return 0;
}

} // namespace sandbox::agent
