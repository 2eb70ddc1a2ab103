// SPDX-License-Identifier: Apache-2.0
// The verbs of managed processes. See verbs.hpp.
#pragma once

#include "cli/command.hpp"

namespace sandbox::cli {

extern const Command k_logs;
extern const Command k_proc_start;
extern const Command k_proc_ls;
extern const Command k_proc_logs;
extern const Command k_proc_stop;
extern const Command k_proc_wait;

} // namespace sandbox::cli
