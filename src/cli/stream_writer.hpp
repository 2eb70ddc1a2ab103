// SPDX-License-Identifier: Apache-2.0
// One of our standard streams, written so that a reader that has stopped reading holds up the command but never a
// signal: it is waited for together with a descriptor that says that waiting is over.
//
//   StreamWriter out(STDOUT_FILENO);
//   out.write(bytes, end_fd);
#pragma once

#include "util/fd.hpp"

#include <string_view>

namespace sandbox::cli {

class StreamWriter {
  public:
    explicit StreamWriter(int fd);
    // Writes everything, or drops the rest once `end_fd` (-1: none) is readable and the reader is not ready. Throws interrupted
    // with SIGPIPE when the reader has gone away, and an errno error for anything else.
    void write(std::string_view bytes, int end_fd);

  private:
    int m_fd;
    Fd m_own; // the same pipe or terminal, non-blocking
};

} // namespace sandbox::cli
