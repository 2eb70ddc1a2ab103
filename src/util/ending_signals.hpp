// SPDX-License-Identifier: Apache-2.0
// The signals that ask a command to end, INT, TERM and HUP, where they are held back (pthread_sigmask(3)) so that a roll-back
// runs whole: they then end waiting, and nothing half done.
//
//   const sigset_t signals = ending_signals(); ::pthread_sigmask(SIG_BLOCK, &signals, &before);
//   wait_unless_ended(Milliseconds(250));
#pragma once

#include "util/error.hpp"

#include <chrono>
#include <csignal>

namespace sandbox {

// Without those that whoever started this process has it ignore (nohup, a shell's background jobs): they go on being ignored.
sigset_t ending_signals();
// `interrupted` by this signal.
Error interrupted_by(int number);
// Waits this long. Takes one of them that this thread holds back, and throws it as `interrupted` at once.
void wait_unless_ended(std::chrono::milliseconds time);

} // namespace sandbox
