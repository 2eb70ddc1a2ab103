// SPDX-License-Identifier: Apache-2.0
// Starting the command of an exec: its first process, the leader, with its pipes or its terminal.
//
//   Leader leader = start_leader(spec);
//   ... wait for leader.pid to end ...
//   if (const auto failure = start_failure(leader)) report(failure->step, failure->error);
#pragma once

#include "util/fd.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace sandbox::agent {

struct LeaderSpec {
    std::vector<std::string> arguments;
    std::vector<std::string> environment; // NAME=VALUE, each name once
    std::string cwd;                      // absolute
    bool stdin_open = false;
    bool tty = false;
    unsigned short rows = 0;
    unsigned short columns = 0;
};

struct Leader {
    pid_t pid = -1;
    Fd input;  // write end of stdin; none when it was not asked for
    Fd output; // read end of stdout, or the terminal's master side
    Fd errors; // read end of stderr; none with a terminal
    Fd status; // where the child reports a failed start
};

struct StartFailure {
    std::string step; // tty, fork, chdir, exec
    int error = 0;    // errno
};

// Forks and executes. The child starts in a session of its own with default signals, oom_score_adj +500 and no descriptor but its
// three. PATH is searched as execvp(3) does, in the child's own PATH; a file without a known format is ENOEXEC, not a script
// for sh. Throws StartFailure where there is no process; what fails in the child shows in start_failure() once it has ended.
Leader start_leader(const LeaderSpec& spec);
// Why an ended leader never became the command; absent when it did. Not asked for earlier: a child that another process
// stops before its execve(2) must not keep the supervisor from watching the time.
std::optional<StartFailure> start_failure(const Leader& leader);

// `additions` over `base`: the last value of a name wins, and keeps its first place.
std::vector<std::string> merge_environment(std::vector<std::string> base, const std::vector<std::string>& additions);
// The value of NAME in such a list; null when it is not there.
const char* find_variable(const std::vector<std::string>& environment, std::string_view name);

} // namespace sandbox::agent
