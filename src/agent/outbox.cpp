// SPDX-License-Identifier: Apache-2.0
#include "agent/outbox.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace sandbox::agent {
namespace {

constexpr std::size_t k_header_room = 5;

} // namespace

bool Outbox::flush() {
    while (m_begin < m_end) {
        const ssize_t sent = ::send(m_socket, m_buffer.data() + m_begin, m_end - m_begin, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) m_begin += static_cast<std::size_t>(sent);
        else if (errno == EAGAIN) return true;
        else if (errno != EINTR) return false;
    }
    m_begin = m_end = 0;
    return true;
}

void Outbox::add(std::string_view frame) {
    if (m_buffer.size() < m_end + frame.size()) m_buffer.resize(m_end + frame.size());
    std::copy(frame.begin(), frame.end(), m_buffer.begin() + static_cast<std::ptrdiff_t>(m_end));
    m_end += frame.size();
}

std::span<char> Outbox::output_room(std::size_t wanted) {
    const std::size_t room = std::min(wanted, k_chunk);
    if (m_buffer.size() < k_header_room + room) m_buffer.resize(k_header_room + room);
    return {m_buffer.data() + k_header_room, room};
}

void Outbox::add_output(FrameType type, std::size_t count) {
    const std::string header = frame_header(type, count);
    std::memcpy(m_buffer.data(), header.data(), k_header_room);
    m_begin = 0;
    m_end = k_header_room + count;
}

} // namespace sandbox::agent
