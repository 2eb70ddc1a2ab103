// SPDX-License-Identifier: Apache-2.0
// A connection that PID 1 itself still reads: until its `open` frame says what it wants, or during the set-up. Few, small
// and short-lived, so that no client can make PID 1 wait or grow.
//
//   while (const auto frame = pending.next()) ...
#pragma once

#include "agent/messages.hpp"
#include "agent/processes.hpp"
#include "util/fd.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

namespace sandbox::agent {

enum class Origin : std::uint8_t {
    hello,   // the creator's socket, which the agent connected to
    outside, // the session's listening socket
    bridge,  // the abstract socket, from inside
};

struct Pending {
    Pending(Fd connection, Origin came_from, std::size_t max_frame, std::int64_t give_up_at);

    // Reads once without blocking. False when the connection is over.
    bool fill();
    // Sends one small frame; false when it does not go out at once.
    bool send(std::string_view frame) const;

    Fd socket;
    Origin origin;
    Process peer; // of a bridge
    std::string nonce;
    Decoder decoder;
    std::int64_t deadline;
    bool awaits_deadline = false; // its `open` said set_deadline
    std::optional<Operation> managed; // what its `open` said of a process that it has yet to name
    Fd received;                  // came with the set-up
    std::optional<SetupMessage> setup;
    std::optional<ItemCollector> items;
};

} // namespace sandbox::agent
