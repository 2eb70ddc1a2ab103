// SPDX-License-Identifier: Apache-2.0
#include "agent/tcp_relay.hpp"

#include "util/little_endian.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace sandbox::agent {
namespace {

constexpr std::size_t k_enough_outgoing = 512 << 10; // no more is read from sockets before that was sent
constexpr std::size_t k_kept_capacity = 32 << 10; // of a buffer that is empty
constexpr std::size_t k_data_header = 1 + 4; // the word, the stream
constexpr std::size_t k_not_watched = SIZE_MAX;

void set_linger(int socket, bool resets) {
    const linger value{resets ? 1 : 0, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &value, sizeof value); // no TCP socket: nothing to reset
}

void prepare(int socket) {
    set_nonblocking(socket, true);
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // what comes in pieces goes on in pieces
    // A connection that ends because this process does is cut, and must not look like one that has ended: see sweep().
    set_linger(socket, true);
}

socklen_t size_of(const sockaddr_in6& address) { return address.sin6_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }

bool is_momentary(int error) { return error == EAGAIN || error == EINTR; }

} // namespace

sockaddr_in6 socket_address(std::string_view bytes, std::uint16_t port) {
    sockaddr_in6 address{};
    if (bytes.size() == sizeof(in6_addr)) {
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(port);
        std::memcpy(&address.sin6_addr, bytes.data(), sizeof(in6_addr));
        return address;
    }
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    if (bytes.size() == sizeof(in_addr)) std::memcpy(&four.sin_addr, bytes.data(), sizeof(in_addr));
    std::memcpy(&address, &four, sizeof four);
    return address;
}

sockaddr_in6 loopback_address(int family, std::uint16_t port) {
    if (family == AF_INET6) return socket_address({reinterpret_cast<const char*>(&in6addr_loopback), sizeof in6addr_loopback}, port);
    const in_addr_t loopback = htonl(INADDR_LOOPBACK);
    return socket_address({reinterpret_cast<const char*>(&loopback), sizeof loopback}, port);
}

TcpRelay::TcpRelay(FrameType speaks, Connect connect) : m_speaks(speaks), m_connect(std::move(connect)) {}

std::uint32_t TcpRelay::open(Fd socket, std::uint16_t port) {
    do ++m_last_id;
    while (m_last_id == 0 || m_streams.contains(m_last_id));
    prepare(socket.get());
    Stream& stream = m_streams[m_last_id];
    stream.socket = std::move(socket);
    stream.port = port;
    say(StreamWord::open, m_last_id, port);
    return m_last_id;
}

void TcpRelay::take(std::string_view payload) {
    Reader reader(payload);
    const std::uint8_t word = reader.u8();
    const std::uint32_t id = reader.u32();
    if (word == 0 || word > static_cast<std::uint8_t>(k_last_stream_word)) throw WireError("an unknown word about a stream");
    if (static_cast<StreamWord>(word) == StreamWord::open) return take_open(id, reader);
    const auto found = m_streams.find(id);
    if (found == m_streams.end()) return; // it crossed with this side's own end
    Stream& stream = found->second;
    switch (static_cast<StreamWord>(word)) {
    case StreamWord::data: take_data(id, stream, reader.rest()); break;
    case StreamWord::end:
        if (stream.write_ended) throw WireError("a stream that ends twice");
        stream.write_ended = true;
        finish_writing(stream);
        break;
    case StreamWord::credit: {
        const std::size_t more = reader.u32();
        if (more > k_largest_window - stream.credit) throw WireError("more credit than the window");
        stream.credit += more;
        if (!std::exchange(stream.answered, true)) on_answer(id, stream.port);
        break;
    }
    case StreamWord::reset: cut(id, stream, static_cast<int>(std::min<std::uint32_t>(reader.u32(), 4095))); break;
    default: throw WireError("an unexpected word about a stream");
    }
    sweep();
}

void TcpRelay::take_open(std::uint32_t id, Reader& reader) {
    const std::uint32_t port = reader.u32();
    reader.expect_end();
    if (!m_connect || port == 0 || port > UINT16_MAX || m_streams.contains(id)) throw WireError("a stream that cannot be opened");
    if (!has_room()) return say(StreamWord::reset, id, EMFILE);
    Stream& stream = m_streams[id];
    stream.port = static_cast<std::uint16_t>(port);
    stream.addresses = m_connect(stream.port, Attempt::first);
    std::reverse(stream.addresses.begin(), stream.addresses.end());
    connect_next(id, stream, ECONNREFUSED);
    sweep();
}

bool TcpRelay::has_address(Stream& stream) const {
    if (stream.addresses.empty() && std::exchange(stream.attempt, Attempt::second) == Attempt::first) {
        stream.addresses = m_connect(stream.port, Attempt::second);
    }
    return !stream.addresses.empty();
}

// `error` is what is told when there is no address left.
void TcpRelay::connect_next(std::uint32_t id, Stream& stream, int error) {
    while (has_address(stream)) {
        const sockaddr_in6 address = stream.addresses.back();
        stream.addresses.pop_back();
        stream.socket.reset(::socket(address.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!stream.socket) {
            if (errno != EAFNOSUPPORT) error = errno;
            continue;
        }
        prepare(stream.socket.get());
        stream.connecting = false;
        if (::connect(stream.socket.get(), reinterpret_cast<const sockaddr*>(&address), size_of(address)) == 0) return write_to(id, stream);
        stream.connecting = errno == EINPROGRESS;
        if (stream.connecting) return;
        // No ::1 in this namespace says nothing about the port.
        if (errno != EADDRNOTAVAIL && errno != ENETUNREACH) error = errno;
    }
    say(StreamWord::reset, id, static_cast<std::uint32_t>(error));
    stream.over = true;
}

void TcpRelay::take_data(std::uint32_t id, Stream& stream, std::string_view bytes) {
    if (stream.write_ended) throw WireError("data after the end of a stream");
    if (stream.waiting.size() - stream.offset + stream.taken + bytes.size() > stream.window) throw WireError("more data than the window");
    if (!std::exchange(stream.answered, true)) on_answer(id, stream.port);
    const bool is_idle = stream.waiting.empty() && !stream.connecting;
    if (is_idle) bytes.remove_prefix(send_some(id, stream, bytes));
    stream.waiting.erase(0, std::exchange(stream.offset, 0));
    stream.waiting += bytes;
    if (is_idle) settle(id, stream);
}

// How many bytes the socket took without waiting.
std::size_t TcpRelay::send_some(std::uint32_t id, Stream& stream, std::string_view bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        const ssize_t count = ::send(stream.socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) break;
        if (count < 0) {
            say(StreamWord::reset, id, 0);
            stream.over = true;
            on_cut(id, stream.port, 0);
            break;
        }
        sent += static_cast<std::size_t>(count);
    }
    stream.taken += sent;
    return sent;
}

void TcpRelay::write_to(std::uint32_t id, Stream& stream) {
    stream.offset += send_some(id, stream, std::string_view(stream.waiting).substr(stream.offset));
    settle(id, stream);
}

// What follows once the socket took what it takes.
void TcpRelay::settle(std::uint32_t id, Stream& stream) {
    if (stream.over) return;
    if (stream.offset == stream.waiting.size()) {
        // A stream that was once full does not keep its memory.
        if (stream.waiting.capacity() > k_kept_capacity) stream.waiting = {};
        stream.waiting.clear();
        stream.offset = 0;
    }
    give_credit(id, stream);
    finish_writing(stream);
}

void TcpRelay::give_credit(std::uint32_t id, Stream& stream) {
    if (stream.write_ended || stream.taken < stream.window / 4) return;
    if (stream.waiting.empty()) widen(stream);
    say(StreamWord::credit, id, static_cast<std::uint32_t>(std::exchange(stream.taken, 0)));
}

// Its socket keeps up, so that a larger window means fewer turns of all who carry it.
void TcpRelay::widen(Stream& stream) {
    const std::size_t more = std::min(k_largest_window - stream.window, k_max_growth - m_growth);
    stream.window += more;
    stream.taken += more;
    m_growth += more;
}

void TcpRelay::finish_writing(Stream& stream) {
    if (!stream.write_ended || stream.connecting || stream.offset < stream.waiting.size()) return;
    ::shutdown(stream.socket.get(), SHUT_WR);
    stream.over = stream.read_ended;
}

void TcpRelay::cut(std::uint32_t id, Stream& stream, int error) {
    stream.over = true;
    on_cut(id, stream.port, error);
}

void TcpRelay::watch(std::vector<pollfd>& set) {
    const bool may_read = outgoing().size() < k_enough_outgoing;
    for (auto& [id, stream] : m_streams) {
        short events = 0;
        if (stream.connecting || stream.offset < stream.waiting.size()) events |= POLLOUT;
        if (!stream.connecting && may_read && !stream.read_ended && stream.credit > 0) events |= POLLIN;
        // Polled for nothing, a socket whose other end is gone would be ready all the time.
        stream.slot = events == 0 ? k_not_watched : set.size();
        if (events != 0) set.push_back({stream.socket.get(), events, 0});
    }
}

void TcpRelay::serve(std::span<const pollfd> set) {
    // The streams behind the one that was served last, then those before it: none is passed over for ever.
    const auto serve_range = [&](auto from, auto to) {
        for (; from != to && outgoing().size() < k_enough_outgoing; ++from) {
            auto& [id, stream] = *from;
            const std::size_t slot = std::exchange(stream.slot, k_not_watched);
            if (slot >= set.size() || set[slot].revents == 0 || stream.over) continue;
            m_served = id;
            serve_one(id, stream, set[slot].revents);
        }
    };
    const auto first = m_streams.upper_bound(m_served);
    serve_range(first, m_streams.end());
    serve_range(m_streams.begin(), first);
    sweep();
}

void TcpRelay::serve_one(std::uint32_t id, Stream& stream, short events) {
    if (stream.connecting) {
        int error = 0;
        socklen_t size = sizeof error;
        ::getsockopt(stream.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        // It was taken and reset before anybody looked: that is this server's answer, and no other address is asked for one.
        if (error == ECONNRESET) {
            stream.addresses.clear();
            stream.attempt = Attempt::second;
        }
        if (error != 0) return connect_next(id, stream, error == ECONNRESET ? 0 : error);
        stream.connecting = false;
        return write_to(id, stream);
    }
    if ((events & POLLOUT) != 0) write_to(id, stream);
    if (!stream.over && !stream.read_ended && stream.credit > 0 && (events & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(id, stream);
}

void TcpRelay::read_from(std::uint32_t id, Stream& stream) {
    const ssize_t count = ::recv(stream.socket.get(), m_piece.data(), std::min(stream.credit, m_piece.size()), 0);
    if (count < 0 && is_momentary(errno)) return;
    if (count < 0) {
        say(StreamWord::reset, id, 0);
        stream.over = true;
        return on_cut(id, stream.port, 0);
    }
    if (count == 0) {
        say(StreamWord::end, id);
        stream.read_ended = true;
        return finish_writing(stream);
    }
    const std::string_view bytes(m_piece.data(), static_cast<std::size_t>(count));
    m_out += frame_header(m_speaks, k_data_header + bytes.size());
    m_out += static_cast<char>(StreamWord::data);
    std::array<char, sizeof id> number;
    put_little_endian(number.data(), id);
    m_out.append(number.data(), number.size()).append(bytes);
    stream.credit -= bytes.size();
}

void TcpRelay::say(StreamWord word, std::uint32_t id) { m_out += Writer(m_speaks).u8(static_cast<std::uint8_t>(word)).u32(id).finish(); }

void TcpRelay::say(StreamWord word, std::uint32_t id, std::uint32_t value) {
    m_out += Writer(m_speaks).u8(static_cast<std::uint8_t>(word)).u32(id).u32(value).finish();
}

void TcpRelay::consume(std::size_t count) {
    m_sent += count;
    if (m_sent < m_out.size() && m_sent < k_enough_outgoing) return;
    m_out.erase(0, std::exchange(m_sent, 0));
}

void TcpRelay::sweep() {
    std::erase_if(m_streams, [this](const auto& entry) {
        const Stream& stream = entry.second;
        const bool is_whole = stream.read_ended && stream.write_ended;
        if (stream.over && is_whole) set_linger(stream.socket.get(), false);
        if (stream.over) m_growth -= stream.window - k_least_window;
        return stream.over;
    });
}

} // namespace sandbox::agent
