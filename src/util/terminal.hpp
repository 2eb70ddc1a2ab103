// SPDX-License-Identifier: Apache-2.0
// The terminal on the other end of a descriptor: its size, and raw mode that is always given back.
//
//   const RawTty raw(STDIN_FILENO);
#pragma once

#include <cstdint>
#include <termios.h>

namespace sandbox {

bool is_terminal(int fd);

struct TerminalSize {
    std::uint16_t rows = 24;
    std::uint16_t columns = 80;
};
// 80x24 where `fd` is not a terminal or does not say.
TerminalSize terminal_size(int fd);

// Raw mode for the scope's length. Stopping the program (SIGTSTP) gives the terminal back and continuing takes it
// again; a signal that ends the program gives it back first. One at a time in a process.
class RawTty {
  public:
    // Throws Error when `fd` is not a terminal.
    explicit RawTty(int fd);
    RawTty(const RawTty&) = delete;
    RawTty& operator=(const RawTty&) = delete;
    ~RawTty();
};

} // namespace sandbox
