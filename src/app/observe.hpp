// SPDX-License-Identifier: Apache-2.0
// What is true now: rows joined with what their engines and agents say. Looking changes nothing and is no activity.
//
//   for (const SessionView& view : observe(context, context.store().list(filter))) ...
#pragma once

#include "app/context.hpp"
#include "app/isolation.hpp"
#include "channel/agent_client.hpp"
#include "state/events.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sandbox::app {

struct SessionView {
    state::SessionRow row;
    state::SessionState state = state::SessionState::running; // what it really is
    bool engine_answered = true; // false: `state` is what the row last knew
    std::optional<engine::ContainerInfo> container;
    std::optional<channel::Status> agent;
    std::vector<state::Event> last_execs; // filled by inspect only
    std::optional<Isolation> isolation;   // by inspect --effective only
    std::int64_t age_ms = 0;
    std::optional<std::int64_t> time_left_ms; // until the TTL; absent for closed sessions
    std::optional<std::int64_t> idle_left_ms; // absent: no limit, busy, or no answer
};

// `warnings` receives one line for each engine that did not answer.
std::vector<SessionView> observe(Context& context, std::vector<state::SessionRow> rows,
                                 std::vector<std::string>& warnings);

// What a row and its container's absence or presence amount to: pure.
state::SessionState true_state(const state::SessionRow& row, const engine::ContainerInfo* container,
                               std::int64_t wall_now);

} // namespace sandbox::app
