// SPDX-License-Identifier: Apache-2.0
// One value for each verb; each family has a file of its own. table.cpp puts them together.
#pragma once

#include "cli/command.hpp"

namespace sandbox::cli {

extern const Command k_create;
extern const Command k_exec;
extern const Command k_ps;
extern const Command k_inspect;
extern const Command k_destroy;
extern const Command k_cp;
extern const Command k_gc;
extern const Command k_events;
extern const Command k_workspace_ls;
extern const Command k_workspace_inspect;
extern const Command k_workspace_rm;
extern const Command k_image_bootstrap;
extern const Command k_image_import;
extern const Command k_version;
extern const Command k_help;

} // namespace sandbox::cli
