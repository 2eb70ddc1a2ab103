// SPDX-License-Identifier: Apache-2.0
// A command's standard input: takes what the client sent within its credit, writes what the command takes, and says how much
// more may be sent. A command that has closed its input is no error; the rest is dropped.
//
//   pump.take(frame.payload); ... if (pump.wants_write() && writable) pump.write(); ... send(pump.take_credit());
#pragma once

#include "util/fd.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sandbox::agent {

class StdinPump {
  public:
    // Without a descriptor everything is dropped.
    StdinPump(Fd input, bool is_terminal) : m_input(std::move(input)), m_is_terminal(is_terminal) {}

    // An empty payload is the end of input. Throws WireError past the window.
    void take(std::string_view payload);
    bool wants_write() const { return m_input && (m_offset < m_waiting.size() || m_ended); }
    // Writes what the descriptor takes without blocking, and closes it after the last byte.
    void write();
    void close();
    int fd() const { return m_input.get(); }
    // Bytes used up since the last call, once enough came together to be worth a frame; 0 otherwise.
    std::uint32_t take_credit();

  private:
    void finish();
    Fd m_input;
    bool m_is_terminal;
    bool m_ended = false;
    std::string m_waiting;
    std::size_t m_offset = 0;
    std::size_t m_used = 0;
};

} // namespace sandbox::agent
