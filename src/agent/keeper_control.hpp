// SPDX-License-Identifier: Apache-2.0
// What PID 1 and the keeper of a managed process tell each other, over a socket that keeps messages apart (SOCK_SEQPACKET). Each begins
// with its word; two of them are the whole message, and the same bytes as other workers use (exec_worker.hpp).
//
//   say(control, ControlWord::update, [&](Writer& writer) { append_info(writer, info); });
//   while (auto heard = hear(control, MSG_DONTWAIT)) ...
#pragma once

#include "agent/wire.hpp"
#include "util/fd.hpp"

#include <functional>
#include <optional>
#include <string>

namespace sandbox::agent {

enum class ControlWord : char {
    // From the keeper.
    claim = 'c',    // u32 how many may run at once, ManagedInfo without an id: may it start? Answered
    update = 'u',   // ManagedInfo
    withdrawn = 'w', // alone: it could not be started, and was nothing
    done = 'd',     // alone: its starter has been answered; or, when the session ends, nothing is left
    finished = 'f', // u32 number of the client: it has been answered, or is gone
    // From PID 1.
    granted = 'g',  // text id
    refused = 'r',  // text error code, text message
    client = 'h',   // u8 operation, u32 number, ManagedQuery; and the connection
    expired = 'x',  // alone: the session's end has come
};

struct ControlMessage {
    ControlWord word{};
    std::string fields;
    Fd fd;
};

// False when it could not be sent: with MSG_DONTWAIT, because the other side is behind; or because it is gone.
bool say(int control, ControlWord word, const std::function<void(Writer&)>& fields = {}, int flags = 0, int fd = -1);
// What came next; absent when nothing is there (MSG_DONTWAIT), and at the end, which is told by `is_over`.
std::optional<ControlMessage> hear(int control, int flags, bool& is_over);

} // namespace sandbox::agent
