// SPDX-License-Identifier: Apache-2.0
// The one table of commands, in the order in which help lists them.
#include "cli/verbs.hpp"

namespace sandbox::cli {

std::span<const Command> commands() {
    static const std::vector<Command> table{k_create, k_exec, k_ps, k_inspect, k_destroy, k_cp, k_workspace_ls,
                                            k_workspace_inspect, k_workspace_rm, k_gc, k_events, k_image_bootstrap,
                                            k_image_import, k_help, k_version};
    return table;
}

const Command* find_command(std::string_view name) {
    if (name.empty()) return nullptr;
    for (const auto& command : commands()) {
        if (command.name == name || command.alias == name) return &command;
    }
    return nullptr;
}

} // namespace sandbox::cli
