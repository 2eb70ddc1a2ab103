// SPDX-License-Identifier: Apache-2.0
// Waiting for a connection while INT, TERM and HUP end the copy instead of the program, so that what was staged is removed.
//
//   InterruptWatch interrupts;
//   if (wait_for(connection, Wanted::writable, interrupts) == Ready::writable) connection.stream().write(piece);
#pragma once

#include "agent/wire.hpp"
#include "util/fd.hpp"

#include <csignal>

namespace sandbox::channel {

// While one exists the signals (those not ignored) wait in a descriptor. A signal that came and was not thrown as
// `interrupted` takes its usual effect at the end.
class InterruptWatch {
  public:
    InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    ~InterruptWatch();
    int fd() const { return m_signals.get(); }
    // Throws interrupted when a signal has come.
    void check();

  private:
    sigset_t m_before{};
    Fd m_signals;
};

// Waits until `fd`, which is no connection, can be written to. Throws interrupted.
void wait_writable_or_interrupted(int fd, InterruptWatch& interrupts);

enum class Wanted { readable, writable };
enum class Ready { readable, writable, timed_out };
// Waits until the connection is readable, or writable if that is wanted; readable wins where it is both, and end of stream
// counts as readable. `timeout_ms` -1 waits for ever. Throws interrupted.
Ready wait_for(agent::FramedStream& connection, Wanted wanted, InterruptWatch& interrupts, int timeout_ms = -1);

} // namespace sandbox::channel
