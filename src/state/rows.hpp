// SPDX-License-Identifier: Apache-2.0
// What the state keeps of a session and a workspace, and the states they pass through.
//
//   if (is_closed(row.state)) say(state_name(row.state));
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox::state {

enum class SessionState { creating, running, paused, stopped, lost, destroying, failed, destroyed, expired };
std::string_view state_name(SessionState state);
// Throws internal on a text that no version wrote.
SessionState state_from_name(std::string_view name);
// destroyed and expired rows are tombstones: nothing is left of the session but the memory.
inline bool is_closed(SessionState state) {
    return state == SessionState::destroyed || state == SessionState::expired;
}

enum class ChannelKind { socket, bridge };

struct SessionRow {
    std::string id;
    std::string name; // empty: none
    std::string owner;
    SessionState state = SessionState::creating;
    std::string endpoint;       // engine URL it was made through
    std::string engine_id;      // the engine's own id; another engine at the same address is "unreachable"
    std::string container_name; // known before the container exists
    std::string container_id;   // empty until the engine answered
    std::string volume;         // persistent: the workspace's volume; ephemeral: found by label, empty here
    std::string workspace_id;   // persistent only
    bool exclusive = false;     // holds the lease on workspace_id alone
    ChannelKind channel = ChannelKind::socket;
    std::string image;
    std::string manifest_json;   // the manifest as domain/manifest.hpp writes it
    std::string manifest_digest;
    std::map<std::string, std::string> labels;
    std::int64_t created_ms = 0;      // wall, ms since the epoch
    std::int64_t expires_ms = 0;      // wall; TTL end
    std::int64_t expires_boot_ms = 0; // the same on CLOCK_BOOTTIME of boot_id
    std::string boot_id;
    std::int64_t idle_timeout_ms = 0; // 0: none
    std::int64_t closed_ms = 0;       // wall, closed rows only
    std::string reason;               // why it failed, was lost or closed: "ttl", "idle", "destroyed by uid:0", ...
};

struct WorkspaceRow {
    std::string owner;
    std::string id;
    std::string volume;
    std::string endpoint;
    std::string engine_id;
    std::map<std::string, std::string> labels;
    std::int64_t created_ms = 0;
    std::int64_t last_used_ms = 0;
    bool confirmed = false; // false between intent and the engine's answer that the volume exists
};

} // namespace sandbox::state
