// SPDX-License-Identifier: Apache-2.0
// When a session's time is over, by its row, and telling its agent.
//
//   set_end(row, std::chrono::hours(1)); store.update(row); tell_agent(context, row);
#pragma once

#include "app/context.hpp"
#include "channel/agent_client.hpp"
#include "util/time.hpp"

#include <cstdint>
#include <optional>

namespace sandbox::app {

// Milliseconds until the TTL ends, negative once it has: on the clock that nobody steps where the row is of this boot, else by wall time.
// Absent where the row has no end.
std::optional<std::int64_t> time_left_ms(const state::SessionRow& row);
bool is_over(const state::SessionRow& row);
// The end becomes now and this long.
void set_end(state::SessionRow& row, Milliseconds from_now);
// The end in the row on this boot's clock, as a hand-shake wants it; 0 for none.
std::int64_t end_on_boot_clock(const state::SessionRow& row);

// The end that the agent of a running session will keep, as wall time; absent where it does not answer soon, or has none. Looking is no activity.
std::optional<std::int64_t> end_by_agent(const channel::Link& link);

// Tells the agent the row's end, and starts its idle time anew. Throws session_unreachable.
void tell_agent(Context& context, const state::SessionRow& row);
// The latter alone.
void renew_idle_time(Context& context, const state::SessionRow& row);

} // namespace sandbox::app
