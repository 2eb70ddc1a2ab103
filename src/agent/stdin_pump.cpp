// SPDX-License-Identifier: Apache-2.0
#include "agent/stdin_pump.hpp"

#include "agent/wire.hpp"

#include <cerrno>
#include <termios.h>
#include <unistd.h>
#include <utility>

namespace sandbox::agent {
namespace {

constexpr std::size_t k_credit_step = k_stdin_window / 4;

} // namespace

void StdinPump::take(std::string_view payload) {
    if (m_ended) throw WireError("input after its end");
    if (payload.empty()) {
        m_ended = true;
        return;
    }
    if (!m_input) {
        m_used += payload.size();
        return;
    }
    if (m_waiting.size() - m_offset + payload.size() > k_stdin_window) throw WireError("more input than was allowed");
    m_waiting.erase(0, std::exchange(m_offset, 0));
    m_waiting += payload;
    write();
}

void StdinPump::write() {
    while (m_offset < m_waiting.size()) {
        const ssize_t count = ::write(m_input.get(), m_waiting.data() + m_offset, m_waiting.size() - m_offset);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        if (count < 0) {
            close();
            return;
        }
        m_offset += static_cast<std::size_t>(count);
        m_used += static_cast<std::size_t>(count);
    }
    m_waiting.clear();
    m_offset = 0;
    if (m_ended) finish();
}

// A pipe is closed; a terminal has no end of its own, but a character that a program in line mode reads as one.
void StdinPump::finish() {
    termios mode{};
    if (m_is_terminal && ::tcgetattr(m_input.get(), &mode) == 0) {
        [[maybe_unused]] const ssize_t written = ::write(m_input.get(), &mode.c_cc[VEOF], 1);
    }
    close();
}

void StdinPump::close() {
    m_used += m_waiting.size() - m_offset;
    m_waiting = {};
    m_offset = 0;
    m_input.reset();
}

std::uint32_t StdinPump::take_credit() {
    if (m_used < k_credit_step) return 0;
    return static_cast<std::uint32_t>(std::exchange(m_used, 0));
}

} // namespace sandbox::agent
