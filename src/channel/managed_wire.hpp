// SPDX-License-Identifier: Apache-2.0
// What managed.cpp and managed_log.cpp share: waiting for an agent's frames as long as it takes, and its word checked.
//
//   return speak([&] { return decode(await_frame(connection)); });
#pragma once

#include "agent/managed_messages.hpp"
#include "channel/connection.hpp"

#include <string>

namespace sandbox::channel {

// The request's frame. Throws not_found for what can't be a process's id or name.
std::string query_request(const agent::ManagedQuery& query);
// The next frame. Throws session_unreachable when the stream ends, and the Error that a failure stands for.
agent::FrameView await_frame(agent::FramedStream& connection);
// Waits for bytes, or for `until` (boot_now_ms); true when there are some.
bool has_frame_before(agent::FramedStream& connection, std::int64_t until);
// Throws WireError for one without an id.
agent::ManagedInfo checked(agent::ManagedInfo info);

// Runs `talk`; what breaks the protocol becomes protocol_error.
template <typename Talk> auto speak(const Talk& talk) {
    try {
        return talk();
    } catch (const agent::CutStream&) {
        throw Error(ErrorCode::session_unreachable, "the session's agent ended the connection");
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    }
}

} // namespace sandbox::channel
