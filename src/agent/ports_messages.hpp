// SPDX-License-Identifier: Apache-2.0
// What is said about TCP ports: who listens (list_ports, wait_port), and the streams of a forward.
//
// Operation::list_ports asks nothing and is answered with one `reply`: encode(ListeningMessage). Operation::wait_port sends a port in a
// `request` and gets a `reply` of the same shape each time that something begins or ceases to listen; one that is not `waiting` is the last.
//
// Operation::forward is answered with an empty `reply` and then carries streams: `request` frames from the client, `reply` frames from the
// agent, each u8 StreamWord | u32 stream | what belongs to it. Streams are numbered by the client.
//
//   connection.write(encode(ListeningMessage{PortState::listening, sockets}));
#pragma once

#include "agent/wire.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::agent {

inline constexpr std::size_t k_max_process_name = 64;

struct ListeningEntry {
    std::string address; // 4 or 16 bytes in network order
    std::uint16_t port = 0;
    std::uint32_t pid = 0; // in the container; 0: not known
    std::string process;   // any bytes
};
enum class PortState : std::uint8_t { waiting, listening, expired };
struct ListeningMessage {
    PortState state = PortState::listening;
    std::vector<ListeningEntry> entries;
};
std::string encode(const ListeningMessage& message);
ListeningMessage decode_listening(std::string_view payload);

std::string encode_wait_port(std::uint16_t port);
std::uint16_t decode_wait_port(std::string_view payload);

enum class StreamWord : std::uint8_t {
    open = 1, // client: u32 port in the session; data may follow at once
    data,     // bytes, within the window
    end,      // no more bytes from this side
    reset,    // the stream is over, whatever was on its way; u32 errno where connecting failed, else 0
    credit,   // u32: so many more bytes may be sent
    expired,  // agent, stream 0: the session's own deadline ends it; the last word
};
inline constexpr StreamWord k_last_stream_word = StreamWord::expired;

} // namespace sandbox::agent
