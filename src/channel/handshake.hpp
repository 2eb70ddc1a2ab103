// SPDX-License-Identifier: Apache-2.0
// The set-up frames of the hand-shake, the same over the creator's socket and over a bridge.
//
//   const std::string frames = encode_setup_frames(setup, hello.version);
#pragma once

#include "channel/agent_client.hpp"

#include <string>
#include <vector>

namespace sandbox::channel {

// NAME=VALUE for each.
std::vector<std::string> environment_items(const Environment& environment);
std::string encode_setup_frames(const SessionSetup& setup, std::uint32_t version);

} // namespace sandbox::channel
