// SPDX-License-Identifier: Apache-2.0
#include "engine/attached_stream.hpp"

#include "util/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>

namespace sandbox::engine {
namespace {

// Output that is taken in during a write. A side that sends more than that and reads nothing would fill our memory, or
// hang us for ever if we stopped to read as well.
constexpr std::size_t k_max_waiting = 8 << 20;

void wait_for(int fd, short events) {
    pollfd entry{fd, events, 0};
    if (::poll(&entry, 1, -1) < 0 && errno != EINTR) throw errno_error("cannot wait for an exec");
}

Error lost() { return Error(ErrorCode::engine_unreachable, "the engine closed the connection of an exec"); }

} // namespace

AttachedStream::AttachedStream(std::unique_ptr<Socket> socket, std::string_view first_bytes, Framing framing)
    : m_socket(std::move(socket)), m_framing(framing) {
    take_in(first_bytes);
}

void AttachedStream::take_in(std::string_view bytes) {
    if (m_given == m_output.size()) {
        m_output.clear();
        m_given = 0;
    }
    if (m_framing == Framing::raw) m_output += bytes;
    else m_demultiplexer.feed(bytes, m_output);
}

void AttachedStream::receive() {
    std::array<char, 65536> bytes;
    const ssize_t count = m_socket->receive(bytes);
    if (count > 0) {
        take_in({bytes.data(), static_cast<std::size_t>(count)});
    } else if (count == 0) {
        if (m_framing == Framing::frames) m_demultiplexer.finish();
        m_ended = true;
    } else if (errno == ECONNRESET) {
        throw lost();
    } else if (errno != EAGAIN && errno != EINTR) {
        throw errno_error("cannot read from an exec");
    }
}

std::size_t AttachedStream::read(std::span<char> buffer) {
    if (buffer.empty()) return 0;
    while (waiting() == 0 && !m_ended) {
        receive();
        if (waiting() == 0 && !m_ended) wait_for(m_socket->fd(), m_socket->wanted(POLLIN));
    }
    const std::size_t count = std::min(buffer.size(), waiting());
    std::memcpy(buffer.data(), m_output.data() + m_given, count);
    m_given += count;
    return count;
}

void AttachedStream::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = m_socket->send(bytes);
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            const short wanted = m_socket->wanted(POLLOUT);
            if (waiting() >= k_max_waiting) throw Error(ErrorCode::protocol_error, "an exec sends without reading");
            wait_for(m_socket->fd(), static_cast<short>(m_ended ? wanted : POLLIN | wanted));
            if (!m_ended) receive();
        } else if (errno == EPIPE || errno == ECONNRESET) {
            throw lost();
        } else if (errno != EINTR) {
            throw errno_error("cannot write to an exec");
        }
    }
}

void AttachedStream::shutdown_write() { m_socket->shutdown_write(); }

} // namespace sandbox::engine
