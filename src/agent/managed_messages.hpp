// SPDX-License-Identifier: Apache-2.0
// The messages about managed processes, shared by agent/ and channel/. decode() throws WireError on anything that the encoding
// could not have made; whoever gets one from an agent can print its id as it is, and must make everything else safe.
//
//   stream.write(encode(ManagedStart{.argument_count = 2, ...})); append_items(...);
//   const ManagedInfo info = decode_managed_info(frame.payload);
#pragma once

#include "agent/wire.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::agent {

inline constexpr std::size_t k_max_process_name = 63;
inline constexpr std::size_t k_max_ready_log = 256;
// What PID 1 keeps of a command and its directory for each process: it must stay small whatever is started.
inline constexpr std::size_t k_max_told_command = 1024;
inline constexpr std::size_t k_max_told_cwd = 512;
// What a keeper keeps of each stream, whatever limits.maxOutput says.
inline constexpr std::uint64_t k_max_log = 4 << 20;
inline constexpr std::uint64_t k_min_log = 1 << 10;
inline constexpr std::uint32_t k_max_managed = 1024;

// The agent numbers processes: "p1", "p2", ...
bool is_process_id(std::string_view text);
// A name as sessions have them, which must not look like an id.
bool is_process_name(std::string_view text);

enum class ManagedState : std::uint8_t {
    running = 1,
    restarting, // it failed, and will be started again
    exited,     // by itself
    stopped,    // somebody asked for it, or the session's end did
    aborted,    // what watched it in the session was killed
};

struct ManagedInfo {
    std::string id;
    std::string name; // may be empty
    std::vector<std::string> command;
    bool command_cut = false; // longer than what is told of it
    std::string cwd;
    ManagedState state = ManagedState::running;
    std::uint32_t pid = 0; // of its leader, inside; 0: it has none now
    std::int32_t exit_status = -1;
    std::uint32_t signal = 0;
    bool oom = false;      // the kernel killed for memory, and the leader failed
    bool expired = false;  // stopped because the session's time was over
    std::int64_t started_ms = 0; // wall
    std::int64_t ended_ms = 0;   // wall; 0: not yet
    std::uint32_t restarts = 0;
    std::uint32_t max_restarts = 0;
    std::uint32_t left_running = 0; // of what it started, once it has ended itself
    bool keep_alive = false;

    // Counts for limits.maxProcesses.
    bool is_running() const { return state == ManagedState::running || state == ManagedState::restarting || left_running > 0; }
};
std::string encode(const ManagedInfo& info); // a reply
ManagedInfo decode_managed_info(std::string_view payload);
// For messages that hold one among other fields.
void append_info(Writer& writer, const ManagedInfo& info);
ManagedInfo info_field(Reader& reader);
// Takes of `arguments` what is told.
void set_told_command(ManagedInfo& info, const std::vector<std::string>& arguments);

// Followed by the arguments, then the environment (NAME=VALUE), as items, and `start`. Answered with the ManagedInfo once the command
// is executed, or a `result` of what kept it from that; then, where something is to be waited for, with a ReadyMessage.
struct ManagedStart {
    std::string name;
    std::string cwd;
    bool keep_alive = false;
    std::int64_t grace_ms = 0;
    std::uint32_t max_restarts = 0;
    std::uint32_t ready_port = 0; // 0: none
    std::string ready_log;        // empty: none
    std::int64_t ready_timeout_ms = 0;
    std::uint64_t log_limit = 0; // bytes of each stream
    std::uint32_t max_processes = 0; // that may run at once, this one included
    std::uint32_t argument_count = 0;
    std::uint32_t environment_count = 0;

    bool awaits_readiness() const { return ready_port != 0 || !ready_log.empty(); }
};
std::string encode(const ManagedStart& message);
ManagedStart decode_managed_start(std::string_view payload);

enum class ReadyOutcome : std::uint8_t { ready = 1, ended, timed_out };
struct ReadyMessage {
    ReadyOutcome outcome = ReadyOutcome::ready;
    bool port_seen = false;
    bool log_seen = false;
    ManagedInfo info;
};
std::string encode(const ReadyMessage& message); // a reply
ReadyMessage decode_ready(std::string_view payload);

// The request of read_log, follow_log, stop_process and wait_process. Small enough for PID 1 to read.
struct ManagedQuery {
    std::string process;              // id, or exact name
    std::uint64_t after = 0;          // logs: from this offset on
    std::int64_t since_ms = 0;        // logs: what came at or after this wall time
    std::uint32_t tail = UINT32_MAX;  // logs: the last so many lines
    std::int64_t grace_ms = -1;       // stop; negative: as it was started with
};
std::string encode(const ManagedQuery& query);
ManagedQuery decode_managed_query(std::string_view payload);
void append_query(Writer& writer, const ManagedQuery& query);
ManagedQuery query_field(Reader& reader);

enum class LogStream : std::uint8_t { gap = 0, out = 1, err = 2 };
// A `data` frame of a log. `gap`: so many bytes that are there no more; else bytes in the order in which they came. Offsets count the
// bytes of both streams since the start.
struct LogFrame {
    LogStream stream = LogStream::out;
    std::uint64_t offset = 0;
    std::int64_t time_ms = 0;  // wall
    std::uint64_t dropped = 0; // gap
    std::string_view bytes;    // lies in the payload
    std::uint64_t end() const { return offset + (stream == LogStream::gap ? dropped : bytes.size()); }
};
std::string encode(const LogFrame& frame);
LogFrame decode_log_frame(std::string_view payload);

// The last frame of a log (`done`): where the next reader goes on, and what became of the process.
struct LogEnd {
    std::uint64_t next = 0;
    ManagedInfo info;
};
std::string encode(const LogEnd& end);
LogEnd decode_log_end(std::string_view payload);

} // namespace sandbox::agent
