// SPDX-License-Identifier: Apache-2.0
// What an event says to a person, its time, kind and session left out. Not yet safe for a terminal: see printable().
//
//   rows.push_back({"EXEC " + format_rfc3339(event.time_ms), event_text(event)});
#pragma once

#include "state/events.hpp"

#include <string>

namespace sandbox::cli {

std::string event_text(const state::Event& event);

} // namespace sandbox::cli
