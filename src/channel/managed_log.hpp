// SPDX-License-Identifier: Apache-2.0
// Reading what a managed process printed: one sequence over both its streams, whose offset brings a reader back to where it was.
//
//   LogReader reader(link, {.process = "web"}, Follow::yes);
//   while (const auto piece = reader.next()) write(piece->bytes);
//   remember(reader.position());
#pragma once

#include "channel/managed.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox::channel {

// From the latest of the places that are given.
struct LogQuery {
    std::string process; // id or exact name
    std::uint64_t after = 0;         // the offset behind what has been read
    std::int64_t since_ms = 0;       // what was printed at or after this wall time
    std::optional<std::uint32_t> tail{}; // the last so many lines
};

enum class Follow { no, yes }; // yes counts as activity, and ends with the process

struct LogPiece {
    OutputStream stream = OutputStream::out;
    std::uint64_t offset = 0;
    std::int64_t time_ms = 0;   // wall
    std::uint64_t dropped = 0;  // not 0: so many bytes of either stream were here, and are kept no more
    std::string_view bytes;     // good until the reader is used again
    std::uint64_t end() const { return offset + dropped + bytes.size(); }
};

class LogReader {
  public:
    // Throws not_found, aborted when the log is lost, session_unreachable.
    LogReader(const Link& link, const LogQuery& query, Follow follow);
    // The next piece; absent at the end. Throws session_unreachable when the stream is cut, which is never the end.
    std::optional<LogPiece> next();
    // The same without waiting: absent when nothing is there, too.
    std::optional<LogPiece> buffered();
    // Reads once from fd(), which blocks unless it is readable.
    void fill();
    int fd() const { return m_connection.fd(); }
    bool has_bytes() { return m_connection.stream().buffered(); }
    bool is_over() const { return m_end.has_value(); }
    // Where another reader goes on: behind the last piece.
    std::uint64_t position() const { return m_position; }
    // At the end: what became of the process.
    const ManagedProcess& process() const { return m_end->info; }

  private:
    LogPiece take(const agent::LogFrame& frame);

    agent::FramedStream m_connection;
    std::uint64_t m_position;
    bool m_is_first = true;
    std::optional<agent::LogEnd> m_end;
};

} // namespace sandbox::channel
