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

#include "util/stream.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sandbox::agent {

inline constexpr std::uint32_t k_protocol_version = 4;
inline constexpr std::uint32_t k_oldest_protocol_version = 1;
// Since when trees hold hard links and xattrs, and archives can be put. All else reads the same in every version.
inline constexpr std::uint32_t k_rich_trees_version = 2;
// Since when a session can be surveyed.
inline constexpr std::uint32_t k_survey_version = 3;
// Since when a session has managed processes, ports and file operations.
inline constexpr std::uint32_t k_live_version = 4;
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
    credit,     // agent -> client: so many more bytes of stdin_data may be sent. The client starts with k_stdin_window, so
                // that a command that does not read its input never blocks the signals queued behind it
    list,       // client -> agent: a directory, and how the names wanted of it begin
    names,      // agent -> client: answer to Operation::list_names; last frame
    survey,     // client -> agent: what is wanted of an inventory (util/inventory.hpp), which comes in `data` frames
    request,    // client -> agent: what an operation since k_live_version asks; its fields are the operation's own. In an exec: "go on without me"
    reply,      // agent -> client: what it answers
};
inline constexpr FrameType k_last_frame_type = FrameType::reply;
inline constexpr std::size_t k_stdin_window = 1 << 20;

enum class Operation : std::uint8_t {
    exec = 1, status, put_tree, put_entries, get_tree, set_deadline, list_names, survey,
    // Since k_live_version.
    hold,           // open until the client hangs up or the session ends: somebody waits, or works through the engine
    start_process, list_processes, read_log, follow_log, stop_process, wait_process, // managed processes
    list_ports, wait_port, forward, // TCP inside the session
    files,          // list, read, write, make and remove single files
};
inline constexpr Operation k_last_operation = Operation::files;
// Looking never counts as activity: the idle time goes on as if nobody had come.
constexpr bool is_activity(Operation operation) {
    switch (operation) {
    case Operation::status:
    case Operation::list_names:
    case Operation::survey:
    case Operation::list_processes:
    case Operation::read_log:
    case Operation::list_ports: return false;
    default: return true;
    }
}

// What a malformed frame or field is. Never escapes agent/ and channel/.
struct WireError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The stream ended inside a frame: whoever sent it is gone, or the way there is cut.
struct CutStream : WireError {
    CutStream() : WireError("the stream ended inside a frame") {}
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
    bool flag(); // 0 or 1, or WireError
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

// A frame whose payload lies in the decoder's buffer: good until the decoder is used again.
struct FrameView {
    FrameType type{};
    std::string_view payload;
};

// Takes a byte stream apart into frames, however it was split. Holds at most one frame and one read.
//
//   decoder.commit(stream.read(decoder.space(k_read_size)));
//   while (const auto frame = decoder.next_view()) handle(*frame);
class Decoder {
  public:
    explicit Decoder(std::size_t max_frame = k_max_frame) : m_max(max_frame) {}
    void feed(std::string_view bytes);
    // Room for the next read, at least one byte and at most `wanted`; the buffer grows only as bytes arrive, never because a
    // length was announced. Ends views given out before.
    std::span<char> space(std::size_t wanted);
    void commit(std::size_t count) { m_end += count; }
    // The next whole frame. Throws WireError on a length of 0, one past the maximum, or an unknown type.
    std::optional<FrameView> next_view();
    std::optional<Frame> next();
    // True when the stream may end here: no part of a frame is waiting.
    bool is_between_frames() const { return m_begin == m_end; }
    // What was fed and not taken yet. With it another decoder can go on.
    std::string_view waiting() const { return {m_buffer.get() + m_begin, m_end - m_begin}; }
    // Overwrites the frames taken so far: one of them carried a secret. Ends views.
    void wipe_taken();

  private:
    void make_room(std::size_t wanted);
    std::size_t m_max;
    std::unique_ptr<char[]> m_buffer;
    std::size_t m_capacity = 0;
    std::size_t m_begin = 0;
    std::size_t m_end = 0;
};

// Blocking frames over a stream, for both sides.
class FramedStream {
  public:
    explicit FramedStream(std::unique_ptr<Stream> stream, std::string_view already_read = {});

    // The next frame; absent when the stream ends between two frames. Throws WireError when it ends inside one or is
    // malformed, Error when the stream fails.
    std::optional<Frame> read_frame();
    // The same without a copy; good until the next call.
    std::optional<FrameView> read_view();
    // A frame that is there already, without reading.
    std::optional<FrameView> buffered_view() { return m_decoder.next_view(); }
    // Reads once; false at end of stream between frames. Throws as read_frame().
    bool fill();
    // Writes a frame that Writer::finish() gave. Throws Error when the other side is gone.
    void write(std::string_view frame) { m_stream->write(frame); }
    // Writes one frame around `payload` (at most k_max_frame - 1 bytes).
    void write(FrameType type, std::string_view payload);
    int fd() const { return m_stream->poll_fd(); }
    Stream& stream() { return *m_stream; }
    // The stream alone, for whoever has read all that matters; this object is of no use then.
    std::unique_ptr<Stream> release() { return std::move(m_stream); }

  private:
    std::unique_ptr<Stream> m_stream;
    Decoder m_decoder;
};

// The five bytes in front of a payload of that size.
std::string frame_header(FrameType type, std::size_t payload_size);

} // namespace sandbox::agent
