// SPDX-License-Identifier: Apache-2.0
// A standard stream, or another pipe, terminal or device, written so that a reader that has stopped reading holds up the command but never a
// signal.
//
//   StreamWriter out(STDOUT_FILENO);
//   out.write(bytes, io.wait_writable);
#pragma once

#include "util/fd.hpp"

#include <functional>
#include <string_view>

namespace sandbox {

class StreamWriter {
  public:
    explicit StreamWriter(int fd);
    // Writes everything, waiting with `wait_writable` (as in channel::ExecIo), and drops the rest when that says false. Throws
    // interrupted with SIGPIPE when the reader has gone away, and an errno error for anything else.
    void write(std::string_view bytes, const std::function<bool(int)>& wait_writable);

  private:
    int m_fd;
    Fd m_own; // the same pipe or terminal, non-blocking
};

} // namespace sandbox
