// SPDX-License-Identifier: Apache-2.0
// What a managed process printed lately: one sequence over both its streams, with one offset that counts their bytes since the
// start, so that whoever comes back with the offset behind what he has seen misses and repeats nothing. Each stream is bounded by
// itself, the oldest is dropped first, and a hole shows as a jump in the offsets. Pure; the clock is handed in.
//
//   log.add(LogStream::out, bytes, wall_now_ms());
//   for (auto piece = log.at(offset, most); piece; piece = log.at(offset, most)) offset = piece->end();
#pragma once

#include "agent/managed_messages.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox::agent {

class ProcessLog {
  public:
    // `limit`: bytes of each stream.
    explicit ProcessLog(std::size_t limit) : m_limit(limit) {}

    void add(LogStream stream, std::string_view bytes, std::int64_t wall_ms);
    // The offset behind the last byte.
    std::uint64_t end() const { return m_end; }
    // The first bytes at or behind `offset` that are still there, at most `most`. Absent when there are none.
    // Good until the next add().
    std::optional<LogFrame> at(std::uint64_t offset, std::size_t most) const;
    // Where what came at or after this time begins.
    std::uint64_t since(std::int64_t wall_ms) const;
    // Where the last so many lines begin. An end of line counts in whichever stream it is.
    std::uint64_t tail(std::uint32_t lines) const;

  private:
    // What came of one stream with nothing of the other between, within a moment.
    struct Record {
        std::uint64_t offset;
        std::int64_t wall_ms;
        std::string bytes;
        std::uint64_t end() const { return offset + bytes.size(); }
    };
    struct Kept {
        std::deque<Record> records;
        std::size_t bytes = 0;
        std::uint64_t from = 0; // of the first record, what is before this offset is dropped
    };

    void append(Kept& kept, std::string_view bytes, std::int64_t wall_ms);
    void shrink(Kept& kept) const;
    static void drop_first(Kept& kept);
    static const Record* find(const Kept& kept, std::uint64_t offset);

    std::size_t m_limit;
    std::uint64_t m_end = 0;
    std::array<Kept, 2> m_streams;
};

} // namespace sandbox::agent
