// SPDX-License-Identifier: Apache-2.0
// The ending signals (ending_signals.hpp) as a descriptor, for loops that poll.
//
//   SignalWatch signals; set.push_back({signals.fd(), POLLIN, 0}); poll(...); signals.check();
#pragma once

#include "util/ending_signals.hpp"
#include "util/fd.hpp"

#include <cerrno>
#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace sandbox::app {

class SignalWatch {
  public:
    SignalWatch() {
        const sigset_t signals = ending_signals();
        ::pthread_sigmask(SIG_BLOCK, &signals, &m_before);
        m_file.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;
    ~SignalWatch() { ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr); }

    int fd() const { return m_file.get(); }
    // Throws interrupted when one has come.
    void check() const {
        signalfd_siginfo info{};
        if (::read(m_file.get(), &info, sizeof info) == sizeof info) throw interrupted_by(static_cast<int>(info.ssi_signo));
    }

  private:
    sigset_t m_before{};
    Fd m_file;
};

} // namespace sandbox::app
