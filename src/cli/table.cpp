// SPDX-License-Identifier: Apache-2.0
// The one table of commands, in the order in which help lists them.
#include "cli/verbs.hpp"

#include <algorithm>

namespace sandbox::cli {

std::span<const Command> commands() {
    static const std::vector<Command> table{
        k_create, k_run, k_with, k_exec, k_shell, k_ps, k_inspect, k_destroy, k_pause, k_resume, k_stop, k_start, k_extend, k_wait, k_stats,
        k_cp, k_diff, k_fs_ls, k_fs_read, k_fs_write, k_fs_mkdir, k_fs_rm,
        k_proc_start, k_proc_ls, k_proc_logs, k_proc_stop, k_proc_wait, k_logs, k_ports, k_wait_port, k_forward, k_preview,
        k_workspace_ls, k_workspace_inspect, k_workspace_rm,
        k_manifest_init, k_manifest_check, k_manifest_explain, k_manifest_schema,
        k_gc, k_doctor, k_events, k_image_bootstrap, k_image_import, k_config_show,
        k_completion, k_help, k_version, k_complete, k_dump_cli};
    return table;
}

const Command* find_command(std::string_view name) {
    if (name.empty()) return nullptr;
    for (const auto& command : commands()) {
        if (command.name == name || command.alias == name) return &command;
    }
    return nullptr;
}

bool is_group(std::string_view word) {
    const std::string prefix = std::string(word) + " ";
    return std::ranges::any_of(commands(), [&](const Command& command) { return command.name.starts_with(prefix); });
}

} // namespace sandbox::cli
