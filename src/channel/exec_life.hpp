// SPDX-License-Identifier: Apache-2.0
// An exec that waits no longer than its session lives: a paused one does not end by itself.
//
//   const ExecResult result = exec(link, request, io, Life{row_end, [&] { return row_end_now(); }});
#pragma once

#include "channel/agent_client.hpp"

#include <cstdint>
#include <functional>
#include <string_view>

namespace sandbox::channel {

// The end of a session by its row, milliseconds of CLOCK_BOOTTIME; 0: none.
struct Life {
    std::int64_t ends_at = 0;
    std::function<std::int64_t()> ask{}; // the same as it is now, for an extend moves it
};

// ExecResult::message of a time-out that nobody in a paused session could keep.
inline constexpr std::string_view k_frozen = "frozen";
// The same of one whose output was not read in time either: what had not been read by then is lost.
inline constexpr std::string_view k_unread = "unread";

// As exec() without it. Outcome::expired when the time is over and Link::on_silence says that the container does not run.
ExecResult exec(const Link& link, const ExecRequest& request, ExecIo& io, Life life);

} // namespace sandbox::channel
