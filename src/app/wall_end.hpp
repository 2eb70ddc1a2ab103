// SPDX-License-Identifier: Apache-2.0
// When a session's time is over, as people read it: by the wall clock as it is set now.
//
//   say("expires at " + format_rfc3339(wall_end_ms(row)));
#pragma once

#include "state/rows.hpp"

#include <cstdint>

namespace sandbox::app {

// Milliseconds since the epoch; 0 where the row has no end. A clock that was stepped since the row was written moves no end (deadlines.hpp),
// but what it is called. Closed rows keep what they say.
std::int64_t wall_end_ms(const state::SessionRow& row);

} // namespace sandbox::app
