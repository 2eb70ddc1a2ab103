// SPDX-License-Identifier: Apache-2.0
// Opening a connection to a session's agent for one operation.
//
//   agent::FramedStream connection = open_connection(link, Operation::put_tree);
#pragma once

#include "agent/messages.hpp"
#include "channel/agent_client.hpp"
#include "util/error.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox::channel {

// In the session's directory; the agent accepts on it.
inline constexpr std::string_view k_agent_socket = "agent.sock";

// An agent answers within milliseconds; after this Link::on_silence is asked whether it still can. Over a bridge, the engine first
// has to start the bridge's program, and refuses to in a frozen container.
inline constexpr Milliseconds k_hello_patience{2000};
inline constexpr Milliseconds k_longest_hello_patience{30'000}; // on a machine that is very busy
inline constexpr Milliseconds k_bridge_hello_patience{10'000};
Milliseconds hello_patience(const Link& link);

// Dials, opens the operation in the oldest version (proving itself over a bridge) and reads the agent's hello. `request` is what follows the open
// frame; over a socket it goes out with it, in one piece. Throws session_unreachable when no hello comes within `patience`
// after dialling (as long as it makes sense when absent), protocol_error when what comes is none.
agent::FramedStream open_connection(const Link& link, agent::Operation operation, std::string_view request = {},
                                    std::optional<Milliseconds> patience = std::nullopt);

// The same for a tree: the agent's hello is read first, and the operation opened in the newest version that both sides speak, and `newest` at most. `request`
// is asked for what follows the open frame when that version is known; what it throws is thrown on.
struct TreeConnection {
    agent::FramedStream stream;
    std::uint32_t version;
};
TreeConnection open_tree_connection(const Link& link, agent::Operation operation, const std::function<std::string(std::uint32_t version)>& request,
                                    std::uint32_t newest = agent::k_protocol_version);

// The same for an operation that there is since k_live_version: throws failed for a session whose agent is older.
agent::FramedStream open_live_connection(const Link& link, agent::Operation operation, std::string_view request);

// The next frame, or session_unreachable when `until` (boot_now_ms) passes or the stream ends first.
agent::FrameView read_before(agent::FramedStream& connection, std::int64_t until);
agent::HelloMessage read_hello(agent::FramedStream& connection, std::int64_t until);
// The hello of a connection just dialled; `patience` as for open_connection().
agent::HelloMessage await_hello(agent::FramedStream& connection, const Link& link, std::optional<Milliseconds> patience = std::nullopt);

// The Error that a `failure` frame outside of a copy stands for.
Error agent_failure(std::string_view payload);
Error broken_protocol(std::string_view what);

// Binds or connects `fd` to a socket called `name` in an open directory, however long the directory's path is. Returns what
// bind(2) or connect(2) returns.
int bind_in(int fd, int directory, std::string_view name);
int connect_in(int fd, int directory, std::string_view name);
Fd open_directory(const std::string& path);

} // namespace sandbox::channel
