// SPDX-License-Identifier: Apache-2.0
// INT, TERM and HUP held back while something is half done, and looked for between its steps, so that a roll-back
// always runs whole.
//
//   Interrupt interrupt;
//   step_one(); interrupt.check(); step_two();
#pragma once

#include <chrono>
#include <csignal>

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
    // Waits until `fd` takes bytes again, a pipe or a terminal's; throws as check() does.
    void wait_writable(int fd);

  private:
    sigset_t m_previous{};
};

} // namespace sandbox::app
