// SPDX-License-Identifier: Apache-2.0
// The verbs that change sessions that live on, wait for them and measure them; table.cpp puts them beside the others.
#pragma once

#include "cli/command.hpp"

namespace sandbox::cli {

extern const Command k_pause;
extern const Command k_resume;
extern const Command k_stop;
extern const Command k_start;
extern const Command k_extend;
extern const Command k_wait;
extern const Command k_stats;

} // namespace sandbox::cli
