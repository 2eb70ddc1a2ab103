// SPDX-License-Identifier: Apache-2.0
// A connection that keeps a session from idling as long as it is open, and tells when the session ends.
//
//   const Hold hold(link);
//   poll(hold.fd()); if (hold.ends() == HoldEnd::expired) say("it expired");
#pragma once

#include "agent/wire.hpp"
#include "channel/agent_client.hpp"

#include <optional>

namespace sandbox::channel {

enum class HoldEnd {
    expired, // its TTL or idle time-out ended the session
    cut,     // something else did: a destroy, the engine, a crash
};

class Hold {
  public:
    // Throws session_unreachable, or failed for a session of an older sandbox.
    explicit Hold(const Link& link);
    // Readable when the session ends.
    int fd() const { return m_connection.fd(); }
    // How it ends: blocks until it does.
    HoldEnd ends();
    // The same as soon as it is known, after fd() was readable; absent when it is not the end. Never blocks longer than a read of what is there.
    std::optional<HoldEnd> end_so_far();

  private:
    agent::FramedStream m_connection;
};

} // namespace sandbox::channel
