// SPDX-License-Identifier: Apache-2.0
// One value for each verb; each family has a file of its own. table.cpp puts them together.
#pragma once

#include "cli/command.hpp"

namespace sandbox::cli {

extern const Command k_create;
extern const Command k_run;
extern const Command k_with;
extern const Command k_exec;
extern const Command k_shell;
extern const Command k_ps;
extern const Command k_inspect;
extern const Command k_destroy;
extern const Command k_cp;
extern const Command k_diff;
extern const Command k_ports;
extern const Command k_wait_port;
extern const Command k_forward;
extern const Command k_preview;
extern const Command k_fs_ls;
extern const Command k_fs_read;
extern const Command k_fs_write;
extern const Command k_fs_mkdir;
extern const Command k_fs_rm;
extern const Command k_pause;
extern const Command k_resume;
extern const Command k_stop;
extern const Command k_start;
extern const Command k_extend;
extern const Command k_wait;
extern const Command k_stats;
extern const Command k_logs;
extern const Command k_proc_start;
extern const Command k_proc_ls;
extern const Command k_proc_logs;
extern const Command k_proc_stop;
extern const Command k_proc_wait;
extern const Command k_gc;
extern const Command k_doctor;
extern const Command k_events;
extern const Command k_workspace_ls;
extern const Command k_workspace_inspect;
extern const Command k_workspace_rm;
extern const Command k_image_bootstrap;
extern const Command k_image_import;
extern const Command k_manifest_init;
extern const Command k_manifest_check;
extern const Command k_manifest_explain;
extern const Command k_manifest_schema;
extern const Command k_config_show;
extern const Command k_version;
extern const Command k_help;
extern const Command k_completion;
extern const Command k_complete;
extern const Command k_dump_cli;

} // namespace sandbox::cli
