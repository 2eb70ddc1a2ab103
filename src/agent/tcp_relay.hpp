// SPDX-License-Identifier: Apache-2.0
// Many TCP connections over one: the streams of Operation::forward (ports_messages.hpp), the same code at both ends. The client's end is
// given sockets that it has accepted, the agent's connects. Each stream has a window of its own, so that one that is not read stops no
// other; each direction ends by itself; and what the other side says is checked. A stream that has not ended when its relay does is reset: nobody must take it for complete. Sockets
// are non-blocking, and the caller polls.
//
//   TcpRelay relay(FrameType::request);
//   relay.open(std::move(accepted), 5173);
//   relay.watch(set); poll(...); relay.serve(set); send(relay.outgoing()); relay.consume(sent);
#pragma once

#include "agent/ports_messages.hpp"
#include "agent/wire.hpp"
#include "util/fd.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <netinet/in.h>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::agent {

// How much one end may send of a stream before the other has passed it on. It begins with the least and grows while the socket at the other
// end keeps up: at most k_max_streams * k_least_window + k_max_growth bytes wait in either end for sockets that take none.
inline constexpr std::size_t k_max_streams = 512;
inline constexpr std::size_t k_least_window = 128 << 10;
inline constexpr std::size_t k_largest_window = 512 << 10;
inline constexpr std::size_t k_max_growth = 16 << 20;

// Where a port may be served, in the order in which it is tried.
using Addresses = std::vector<sockaddr_in6>; // or sockaddr_in in its place: the family says
sockaddr_in6 loopback_address(int family, std::uint16_t port);
sockaddr_in6 socket_address(std::string_view bytes, std::uint16_t port); // 4 or 16 bytes

class TcpRelay {
  public:
    enum class Attempt { first, second }; // the second when all of the first were refused
    using Connect = std::function<Addresses(std::uint16_t port, Attempt attempt)>;
    // `speaks`: the type of the frames of this side. Without `connect` the other side may open nothing.
    explicit TcpRelay(FrameType speaks, Connect connect = {});
    TcpRelay(const TcpRelay&) = delete;
    TcpRelay& operator=(const TcpRelay&) = delete;

    bool has_room() const { return m_streams.size() < k_max_streams; }
    std::size_t streams() const { return m_streams.size(); }
    // Carries a connected socket to a port of the other side; only while has_room().
    std::uint32_t open(Fd socket, std::uint16_t port);
    // One frame of the other side. Throws WireError where it breaks the protocol; a stream that is over is no error.
    void take(std::string_view payload);

    // Appends what to poll for. serve() wants that very set, polled.
    void watch(std::vector<pollfd>& set);
    void serve(std::span<const pollfd> set);

    // What is to be sent, and how much of it was.
    std::string_view outgoing() const { return std::string_view(m_out).substr(m_sent); }
    void consume(std::size_t count);

    // Told when a stream ends before its time: `error` is errno where the other side could not connect, 0 for a reset.
    std::function<void(std::uint32_t stream, std::uint16_t port, int error)> on_cut = [](std::uint32_t, std::uint16_t, int) {};
    // Told when the other side has connected and speaks, or has taken something.
    std::function<void(std::uint32_t stream, std::uint16_t port)> on_answer = [](std::uint32_t, std::uint16_t) {};

  private:
    struct Stream {
        Fd socket;
        std::uint16_t port = 0;
        Addresses addresses; // still to be tried while connecting, the next one last
        Attempt attempt = Attempt::first;
        bool connecting = false;
        bool answered = false;
        bool read_ended = false;  // the socket's end was passed on
        bool write_ended = false; // the other side's end has come
        bool over = false;
        std::size_t credit = k_least_window; // what the other side still takes
        std::size_t window = k_least_window; // what it may send
        std::size_t taken = 0;   // bytes the socket took since credit was last given
        std::string waiting;     // for the socket
        std::size_t offset = 0;  // of what it has taken of them
        std::size_t slot = SIZE_MAX; // in the polled set, where it is in it
    };

    void take_open(std::uint32_t id, Reader& reader);
    void take_data(std::uint32_t id, Stream& stream, std::string_view bytes);
    bool has_address(Stream& stream) const;
    void connect_next(std::uint32_t id, Stream& stream, int error);
    void serve_one(std::uint32_t id, Stream& stream, short events);
    void read_from(std::uint32_t id, Stream& stream);
    std::size_t send_some(std::uint32_t id, Stream& stream, std::string_view bytes);
    void write_to(std::uint32_t id, Stream& stream);
    void settle(std::uint32_t id, Stream& stream);
    void give_credit(std::uint32_t id, Stream& stream);
    void widen(Stream& stream);
    void finish_writing(Stream& stream);
    void cut(std::uint32_t id, Stream& stream, int error);
    void say(StreamWord word, std::uint32_t id);
    void say(StreamWord word, std::uint32_t id, std::uint32_t value);
    void sweep();

    FrameType m_speaks;
    Connect m_connect;
    std::map<std::uint32_t, Stream> m_streams;
    std::size_t m_growth = 0; // of all windows
    std::uint32_t m_last_id = 0;
    std::uint32_t m_served = 0; // whose turn it was: the next one begins
    std::string m_out;
    std::size_t m_sent = 0;
    std::array<char, 64 << 10> m_piece; // what is read from a socket at once
};

} // namespace sandbox::agent
