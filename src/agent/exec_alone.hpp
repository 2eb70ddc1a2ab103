// SPDX-License-Identifier: Apache-2.0
// What the engine starts as a user that PID 1 is not, and whose processes PID 1 may not signal: a supervisor for a single command, and the
// end of all that such a user has left.
//
//   if (verb == "exec") return run_exec_alone();
#pragma once

namespace sandbox::agent {

// `sandbox-agent exec`: an exec whose frames go over standard input and output. The environment is this process's own, and the session's end is
// the end of the container. Refuses PID 1's own user, whose processes are PID 1's to end.
int run_exec_alone();
// `sandbox-agent sweep`: ends every process of its own user but itself. For what a command leaves that has killed or stopped its supervisor.
// The exit status: 0, or 1 where some could not be ended.
int run_sweep();

} // namespace sandbox::agent
