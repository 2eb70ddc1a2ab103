// SPDX-License-Identifier: Apache-2.0
// Passing the caller's signals on to a running exec, from a thread of its own, so that they get through while the caller's
// output callback blocks.
//
//   SignalForwarder signals(sender, {.window_size = io.window_size});
#pragma once

#include "agent/wire.hpp"
#include "channel/agent_client.hpp"
#include "util/fd.hpp"

#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

namespace sandbox::channel {

// Whole frames from more than one thread. A failed write is not an error here: the reading side finds out why.
class FrameSender {
  public:
    explicit FrameSender(agent::FramedStream& connection) : m_connection(connection) {}
    void send(std::string_view frame);

  private:
    agent::FramedStream& m_connection;
    std::mutex m_mutex;
};

class SignalForwarder {
  public:
    // Takes INT, TERM, HUP, QUIT, USR1, USR2, and WINCH when `window_size` is set, except those that are ignored.
    SignalForwarder(FrameSender& sender, std::function<WindowSize()> window_size);
    SignalForwarder(const SignalForwarder&) = delete;
    // Gives the signals back; one that came meanwhile and was not passed on takes its usual effect.
    ~SignalForwarder();
    // The first signal that ended the command; 0: none.
    int end_signal() const { return m_end_signal; }
    // Readable from that signal on.
    int end_fd() const { return m_ended.get(); }

  private:
    void run();
    void pass_on(int number);
    FrameSender& m_sender;
    std::function<WindowSize()> m_window_size;
    sigset_t m_before{};
    Fd m_signals;
    Fd m_stop;
    Fd m_ended;
    std::atomic<int> m_end_signal = 0;
    std::thread m_thread;
};

} // namespace sandbox::channel
