// SPDX-License-Identifier: Apache-2.0
// Passing the caller's signals on to a running exec. Everything that waits, the wait for a slow reader of the output
// included, waits for them too.
//
//   SignalForwarder signals(connection, io.window_size);
//   if (!signals.wait_writable(fd)) give_up();
#pragma once

#include "agent/wire.hpp"
#include "channel/agent_client.hpp"
#include "util/fd.hpp"

#include <csignal>
#include <cstdint>
#include <functional>
#include <string_view>

namespace sandbox::channel {

// Sends one frame. A failed write is not an error here: the reading side finds out why.
void send_frame(agent::FramedStream& connection, std::string_view frame);

class SignalForwarder {
  public:
    // Takes INT, TERM, HUP, QUIT, USR1, USR2, and WINCH when `window_size` is set, except those that are ignored; and, passed
    // on as TERM, the others that would end this process and can be caught (ALRM, XCPU, ...).
    SignalForwarder(agent::FramedStream& connection, std::function<WindowSize()> window_size);
    SignalForwarder(const SignalForwarder&) = delete;
    SignalForwarder& operator=(const SignalForwarder&) = delete;
    // Gives the signals back; one that came meanwhile and was not passed on takes its usual effect.
    ~SignalForwarder();

    // Readable when there is something to pass on.
    int fd() const { return m_signals.get(); }
    void pass_on();
    // Waits until `fd` can be written to. False once a signal has ended the command and `fd` is not ready, and at `until` (CLOCK_BOOTTIME,
    // milliseconds; 0: never).
    bool wait_writable(int fd, std::int64_t until);
    // The first signal that ended the command; 0: none.
    int end_signal() const { return m_end_signal; }
    // A second one: the agent kills at once, and is not waited for long.
    bool is_impatient() const { return m_is_impatient; }

  private:
    void pass_on(int number);

    agent::FramedStream& m_connection;
    std::function<WindowSize()> m_window_size;
    sigset_t m_before{};
    Fd m_signals;
    int m_end_signal = 0;
    bool m_is_impatient = false;
};

} // namespace sandbox::channel
