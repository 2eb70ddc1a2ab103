// SPDX-License-Identifier: Apache-2.0
// Opens a connection to an engine, and says in words that help why it could not.
//
//   HttpConnection connection(connect_to(endpoint, std::chrono::seconds(3)));
#pragma once

#include "engine/client.hpp"
#include "util/fd.hpp"

#include <chrono>

namespace sandbox::engine {

// A connected, non-blocking socket. Throws engine_unreachable with a hint for each way to fail.
Fd connect_to(const Endpoint& endpoint, std::chrono::milliseconds timeout);

} // namespace sandbox::engine
