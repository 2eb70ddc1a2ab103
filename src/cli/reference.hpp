// SPDX-License-Identifier: Apache-2.0
// What the manual has to list and no command table holds: the exit statuses, and the variables that are read.
//
//   for (const ExitStatus& one : exit_statuses()) std::cout << one.status << '\n';
#pragma once

#include <span>
#include <string_view>

namespace sandbox::cli {

enum class StatusScope { always, commands }; // commands: where a command's own status passes through

struct ExitStatus {
    int status;
    StatusScope scope;
    std::string_view meaning; // one line, no full stop
};
std::span<const ExitStatus> exit_statuses();

struct Variable {
    std::string_view name;
    std::string_view meaning; // one line, no full stop
};
std::span<const Variable> environment_variables();

} // namespace sandbox::cli
