// SPDX-License-Identifier: Apache-2.0
// Frames on their way to a client that may not be reading: sent without blocking, one chunk of output at a time, so that
// a slow client slows the command and costs no memory.
//
//   if (outbox.is_empty()) outbox.send_output(FrameType::stdout_data, [&](std::span<char> room) { return read(room); });
#pragma once

#include "agent/wire.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::agent {

class Outbox {
  public:
    static constexpr std::size_t k_chunk = 256 << 10;

    explicit Outbox(int socket) : m_socket(socket) {}
    bool is_empty() const { return m_begin == m_end; }
    // Sends what the socket takes. False when the client is gone.
    bool flush();
    // Queues one small frame behind what waits.
    void add(std::string_view frame);
    // Where the next piece of output is to be read to; only while is_empty().
    std::span<char> output_room(std::size_t wanted);
    // Frames the `count` bytes that are there now.
    void add_output(FrameType type, std::size_t count);
    // Gives the memory back; the outbox is not used any more.
    void release() { m_buffer = {}; }

  private:
    int m_socket;
    std::vector<char> m_buffer;
    std::size_t m_begin = 0;
    std::size_t m_end = 0;
};

} // namespace sandbox::agent
