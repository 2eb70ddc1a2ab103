// SPDX-License-Identifier: Apache-2.0
// The agent protocol on the wire, shared by agent/ and channel/. A frame is
//
//   u32 length (little endian, of what follows: 1 to k_max_frame) | u8 type | payload
//
// and a payload is a sequence of fields in a fixed order for each type: integers little endian, strings as
// u32 length and bytes. The first frame of a connection from the client is `open`, and carries the version.
//
//   Writer w(FrameType::open); w.u32(k_protocol_version); w.u8(Operation::exec); send(w.finish());
//   Reader r(frame.payload); const auto version = r.u32();
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sandbox::agent {

inline constexpr std::uint32_t k_protocol_version = 1;
inline constexpr std::uint32_t k_oldest_protocol_version = 1;
inline constexpr std::size_t k_max_frame = 1 << 20;
// An `open` frame is read by PID 1 itself before it forks a worker: small, so that nobody can make it wait or grow.
inline constexpr std::size_t k_max_open_frame = 512;

enum class FrameType : std::uint8_t {
    hello = 1,  // agent -> client, first frame of each connection: version, nonce, and at creation who it is
    setup,      // client -> agent, at creation: environment, workdir, deadlines, secret
    open,       // client -> agent: version, operation, HMAC (bridge)
    exec,       // client -> agent: flags, cwd, time-out, grace, counts; then `item` frames with argv and environment
    item,       // client -> agent: one argument or NAME=VALUE
    start,      // client -> agent: all items are there
    stdin_data, // client -> agent; empty payload: end of file
    signal,     // client -> agent: number
    resize,     // client -> agent: rows, columns
    stdout_data, stderr_data,
    result,     // agent -> client: how the exec ended; last frame
    status,     // agent -> client: answer to Operation::status; last frame
    put,        // client -> agent: options; then tree records in `data` frames
    get,        // client -> agent: source and options; then tree records come in `data` frames
    data,       // tree bytes, either way; an empty payload ends the tree
    done,       // either way: counts, after the last data was applied
    failure,    // either way: error code name and message; last frame
    deadline,   // client -> agent: new TTL or idle, with its own HMAC over a bridge
};

enum class Operation : std::uint8_t { exec = 1, status, put_tree, put_entries, get_tree, set_deadline };

// What a malformed frame or field is. Never escapes agent/ and channel/.
struct WireError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Frame {
    FrameType type{};
    std::string payload;
};

// Builds one frame.
class Writer {
  public:
    explicit Writer(FrameType type);
    Writer& u8(std::uint8_t value);
    Writer& u32(std::uint32_t value);
    Writer& u64(std::uint64_t value);
    Writer& i64(std::int64_t value) { return u64(static_cast<std::uint64_t>(value)); }
    Writer& text(std::string_view value); // u32 length and bytes
    Writer& raw(std::string_view bytes);  // the rest of the payload
    // Throws WireError when the frame is longer than k_max_frame.
    std::string finish();

  private:
    std::string m_bytes;
};

// Reads the fields of one payload; every getter throws WireError past the end.
class Reader {
  public:
    explicit Reader(std::string_view payload) : m_rest(payload) {}
    std::uint8_t u8();
    std::uint32_t u32();
    std::uint64_t u64();
    std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
    std::string_view text();
    std::string_view rest();
    bool at_end() const { return m_rest.empty(); }
    void expect_end() const;

  private:
    std::string_view take(std::size_t count);
    std::string_view m_rest;
};

// Takes a byte stream apart into frames, however it was split. Holds at most one frame.
class Decoder {
  public:
    explicit Decoder(std::size_t max_frame = k_max_frame) : m_max(max_frame) {}
    void feed(std::string_view bytes) { m_buffer.append(bytes); }
    // The next whole frame. Throws WireError on a length of 0, one past the maximum, or an unknown type; nothing is allocated for
    // a length that was only announced.
    std::optional<Frame> next();
    // True when the stream may end here: no part of a frame is waiting.
    bool is_between_frames() const { return m_offset == m_buffer.size(); }

  private:
    std::size_t m_max;
    std::string m_buffer;
    std::size_t m_offset = 0;
};

} // namespace sandbox::agent
