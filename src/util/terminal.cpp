// SPDX-License-Identifier: Apache-2.0
#include "util/terminal.hpp"

#include "util/error.hpp"

#include <cerrno>
#include <csignal>
#include <sys/ioctl.h>
#include <unistd.h>

namespace sandbox {
namespace {

// What the signal handler needs; a handler can reach nothing but globals.
int g_raw_fd = -1;
termios g_cooked{};
termios g_raw{};
struct sigaction g_previous {};

void on_stop(int) {
    const int saved_errno = errno;
    ::tcsetattr(g_raw_fd, TCSADRAIN, &g_cooked);
    ::kill(::getpid(), SIGSTOP);
    // Here again after SIGCONT.
    ::tcsetattr(g_raw_fd, TCSADRAIN, &g_raw);
    errno = saved_errno;
}

} // namespace

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

TerminalSize terminal_size(int fd) {
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
    return {size.ws_row, size.ws_col};
}

RawTty::RawTty(int fd) {
    if (::tcgetattr(fd, &g_cooked) != 0) throw errno_error("cannot read the terminal's settings");
    g_raw = g_cooked;
    ::cfmakeraw(&g_raw);
    if (::tcsetattr(fd, TCSADRAIN, &g_raw) != 0) throw errno_error("cannot set the terminal's mode");
    g_raw_fd = fd;
    struct sigaction action {};
    action.sa_handler = on_stop;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGTSTP, &action, &g_previous);
}

RawTty::~RawTty() {
    ::sigaction(SIGTSTP, &g_previous, nullptr);
    ::tcsetattr(g_raw_fd, TCSADRAIN, &g_cooked);
    g_raw_fd = -1;
}

} // namespace sandbox
