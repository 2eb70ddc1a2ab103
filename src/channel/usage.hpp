// SPDX-License-Identifier: Apache-2.0
// How much is in a session's workdir.
//
//   if (const auto bytes = workdir_bytes(link, std::chrono::seconds(2))) say(*bytes);
#pragma once

#include "channel/agent_client.hpp"

#include <cstdint>
#include <optional>

namespace sandbox::channel {

// The sizes of all regular files below it, one with several names counted once. Looking: never counts as activity. Absent when it cannot be told: the
// agent is too old, does not answer, breaks the protocol, or has not come through within `most`, or there are very many files.
std::optional<std::uint64_t> workdir_bytes(const Link& link, Milliseconds most);

} // namespace sandbox::channel
