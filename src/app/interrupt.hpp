// SPDX-License-Identifier: Apache-2.0
// INT, TERM and HUP held back while something is half done, and looked for between its steps, so that a roll-back
// always runs whole.
//
//   Interrupt interrupt;
//   step_one(); interrupt.check(); step_two();
#pragma once

#include <chrono>
#include <csignal>
#include <functional>

namespace sandbox::app {

class Interrupt {
  public:
    Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    ~Interrupt();
    // Throws interrupted when one of the signals came since the last look.
    void check();
    // The same after waiting this long, or as soon as a signal comes.
    void wait(std::chrono::milliseconds time);
    // For writers that wait (channel::ExecIo): returns true when a descriptor takes bytes again, and throws as check() does.
    std::function<bool(int)> wait_writable();

  private:
    sigset_t m_previous{};
};

} // namespace sandbox::app
