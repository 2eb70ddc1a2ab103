// SPDX-License-Identifier: Apache-2.0
#include "cli/shell.hpp"

#include "cli/attached_exec.hpp"
#include "cli/output.hpp"
#include "util/error.hpp"

#include <array>
#include <cerrno>
#include <vector>

namespace sandbox::cli {
namespace {

constexpr int k_not_found = 127;

using Words = std::vector<std::string>;

// The more it can do for a person, the earlier. A BusyBox may be there without its links.
std::vector<Words> candidates(std::string_view wanted) {
    if (!wanted.empty()) return {{std::string(wanted)}};
    return {{"bash"}, {"zsh"}, {"fish"}, {"ksh"}, {"ash"}, {"dash"}, {"sh"}, {"busybox", "sh"}, {"/bin/busybox", "sh"}};
}

bool is_absent(const channel::ExecResult& result) {
    return result.outcome == channel::Outcome::start_failed && result.message == "exec" && (result.start_errno == ENOENT || result.start_errno == ENOTDIR);
}

} // namespace

int run_shell(app::Context& context, const app::ExecTarget& target, channel::ExecRequest request, std::string_view wanted,
                              const std::string& detach_keys) {
    request.stdin_open = true;
    give_terminal(request);
    CommandStreams streams(true, std::nullopt);
    for (const Words& command : candidates(wanted)) {
        request.argv = command;
        const auto result = exec_attached(context, target, request, streams, detach_keys);
        if (wanted.empty() && is_absent(result)) continue;
        if (const auto error = app::exec_error(result, request)) print_error(*error);
        return app::exec_exit_status(result);
    }
    print_error(Error(ErrorCode::command_not_found, "the image has no shell").hint("sandbox exec runs its programs, sandbox cp and sandbox diff show its files"));
    return k_not_found;
}

} // namespace sandbox::cli
