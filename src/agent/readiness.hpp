// SPDX-License-Identifier: Apache-2.0
// When a managed process serves: a port that it listens on, a text that it prints, or both.
//
//   Readiness ready(message.ready_port, message.ready_log);
//   ready.take(LogStream::out, bytes); ready.look_at_port(own_processes);
//   if (ready.is_reached()) tell();
#pragma once

#include "agent/managed_messages.hpp"
#include "agent/processes.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::agent {

class Readiness {
  public:
    // Port 0, an empty text: not asked for.
    Readiness(std::uint16_t port, std::string text) : m_port(port), m_text(std::move(text)) { start_over(); }

    // A new attempt has to show anew what the last one did.
    void start_over();
    // What the process printed, in order; the text may be cut anywhere by it.
    void take(LogStream stream, std::string_view bytes);
    // Looks whether one of `own` listens on the port. Another process that does is no sign of this one; where it can't be known whose
    // socket it is, any counts.
    void look_at_port(const std::vector<Process>& own);
    bool awaits_port() const { return !m_port_seen; }
    bool is_port_seen() const { return m_port_seen; }
    bool is_text_seen() const { return m_text_seen; }
    bool is_reached() const { return m_port_seen && m_text_seen; }

  private:
    std::uint16_t m_port;
    std::string m_text;
    bool m_port_seen = false;
    bool m_text_seen = false;
    std::array<std::string, 2> m_ends; // of each stream, shorter than the text
};

} // namespace sandbox::agent
