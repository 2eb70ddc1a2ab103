// SPDX-License-Identifier: Apache-2.0
// The typed messages of the protocol, each with the one encoding that both sides use. decode() throws WireError on anything
// that the encoding could not have made.
//
//   stream.write(encode(OpenMessage{.operation = Operation::exec}));
//   const auto result = decode_result(frame.payload);
#pragma once

#include "agent/wire.hpp"
#include "util/sha256.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sandbox::agent {

// Bounds on what a client may ask one exec or set-up to keep. The kernel's own bound on arguments and environment is 2 MiB with the
// usual stack limit and never over 6 MiB.
inline constexpr std::size_t k_max_items = 1 << 17;
inline constexpr std::size_t k_max_item_bytes = 8 << 20;

struct HelloMessage {
    std::uint32_t version = k_protocol_version;
    std::string nonce; // of this connection
    std::string agent_version;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    bool workspace_writable = false; // true only after the set-up
    bool home_writable = false;
    std::string home;
};
std::string encode(const HelloMessage& message);
HelloMessage decode_hello(std::string_view payload);

// Followed by `environment_count` items and `start`.
struct SetupMessage {
    std::string workdir;
    std::int64_t ttl_left_ms = 0; // from its arrival on; 0: none
    std::int64_t idle_timeout_ms = 0;
    std::int64_t grace_ms = 0;
    std::string secret;
    // The session ends when the connection that brought this does, unless a byte comes on it before.
    bool ends_with_creator = false; // since k_live_version
    std::uint32_t environment_count = 0;
};
// For an agent that speaks `version`.
std::string encode(const SetupMessage& message, std::uint32_t version = k_protocol_version);
SetupMessage decode_setup(std::string_view payload);

struct OpenMessage {
    std::uint32_t version = k_protocol_version;
    Operation operation = Operation::status;
    std::string proof; // over a bridge: open_proof()
};
std::string encode(const OpenMessage& message);
OpenMessage decode_open(std::string_view payload);
// The HMAC that shows knowledge of the session's secret for one connection (its nonce) and one purpose.
Sha256Digest open_proof(std::string_view secret, std::string_view nonce, Operation operation);

// Negative: unchanged.
struct DeadlineMessage {
    std::int64_t ttl_boot_ms = -1;
    std::int64_t idle_timeout_ms = -1;
    std::string proof; // over a bridge: deadline_proof()
};
std::string encode(const DeadlineMessage& message);
DeadlineMessage decode_deadline(std::string_view payload);
Sha256Digest deadline_proof(std::string_view secret, std::string_view nonce, const DeadlineMessage& message);

// Followed by the arguments, then the environment (NAME=VALUE), as items, and `start`.
struct ExecMessage {
    bool stdin_open = false;
    bool tty = false;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::int64_t timeout_ms = 0;
    std::int64_t grace_ms = 0;
    std::uint32_t argument_count = 0;
    std::uint32_t environment_count = 0;
    std::string cwd;
    std::string term;
};
std::string encode(const ExecMessage& message);
ExecMessage decode_exec(std::string_view payload);

std::string encode_signal(std::uint32_t number);
std::uint32_t decode_signal(std::string_view payload);
std::string encode_resize(std::uint32_t rows, std::uint32_t columns);
std::pair<std::uint32_t, std::uint32_t> decode_resize(std::string_view payload);
std::string encode_credit(std::uint32_t bytes);
std::uint32_t decode_credit(std::string_view payload);

// The values are the wire's; channel::Outcome has the same without relying on the order.
// `detached` answers a `request` frame, since k_live_version: the command goes on without a client.
enum class ExecOutcome : std::uint8_t { exited = 1, signaled, timed_out, oom, expired, start_failed, detached };
struct ResultMessage {
    ExecOutcome outcome = ExecOutcome::exited;
    std::int32_t exit_status = -1;
    std::uint32_t signal = 0;
    std::uint32_t start_errno = 0;
    std::string step; // start_failed: chdir, exec, fork, tty
    std::int64_t wall_ms = 0;
    std::int64_t user_cpu_us = 0;
    std::int64_t system_cpu_us = 0;
    std::int64_t peak_rss_kib = 0;
    std::uint64_t stdout_bytes = 0;
    std::uint64_t stderr_bytes = 0;
    std::uint32_t left_running = 0;
    bool oom = false; // the kernel killed something for memory meanwhile, whatever became of the leader
};
std::string encode(const ResultMessage& message);
ResultMessage decode_result(std::string_view payload);

struct StatusMessage {
    std::int64_t boot_now_ms = 0;
    std::int64_t ttl_boot_ms = 0;
    std::int64_t idle_timeout_ms = 0;
    std::int64_t idle_left_ms = -1;
    std::uint32_t operations = 0;
    std::uint32_t processes = 0;
    bool workspace_writable = false;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
};
std::string encode(const StatusMessage& message);
StatusMessage decode_status(std::string_view payload);

struct FailureMessage {
    std::string code; // an error code's name
    std::string text;
};
std::string encode(const FailureMessage& message);
FailureMessage decode_failure(std::string_view payload);

// `items` as item frames followed by `start`, appended to `out`.
void append_items(std::string& out, const std::vector<std::string>& items);

// Collects announced items; take() throws WireError past the announced count or the bounds above.
class ItemCollector {
  public:
    explicit ItemCollector(std::size_t count);
    // True when `frame` was the closing `start`.
    bool take(const FrameView& frame);
    std::vector<std::string>& items() { return m_items; }

  private:
    std::size_t m_count;
    std::size_t m_bytes = 0;
    std::vector<std::string> m_items;
};

} // namespace sandbox::agent
