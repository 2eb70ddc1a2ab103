// SPDX-License-Identifier: Apache-2.0
#include "util/terminal.hpp"

#include "util/error.hpp"

#include <array>
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

// Those that end a program unless it blocks them, as an exec does once it runs.
constexpr std::array k_fatal{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGABRT};
struct sigaction g_previous_stop {};
std::array<struct sigaction, k_fatal.size()> g_previous_fatal{};

void on_stop(int) {
    const int saved_errno = errno;
    ::tcsetattr(g_raw_fd, TCSADRAIN, &g_cooked);
    ::kill(::getpid(), SIGSTOP);
    // Here again after SIGCONT.
    ::tcsetattr(g_raw_fd, TCSADRAIN, &g_raw);
    errno = saved_errno;
}

void on_fatal(int signal) {
    ::tcsetattr(g_raw_fd, TCSADRAIN, &g_cooked);
    // The default action is set again (SA_RESETHAND), and takes effect when this handler returns.
    ::raise(signal);
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
    ::sigaction(SIGTSTP, &action, &g_previous_stop);
    action.sa_handler = on_fatal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (std::size_t i = 0; i < k_fatal.size(); ++i) {
        ::sigaction(k_fatal[i], nullptr, &g_previous_fatal[i]);
        // What the caller has this program ignore (nohup) stays ignored.
        if (g_previous_fatal[i].sa_handler == SIG_DFL) ::sigaction(k_fatal[i], &action, nullptr);
    }
}

RawTty::~RawTty() {
    ::tcsetattr(g_raw_fd, TCSADRAIN, &g_cooked);
    ::sigaction(SIGTSTP, &g_previous_stop, nullptr);
    for (std::size_t i = 0; i < k_fatal.size(); ++i) ::sigaction(k_fatal[i], &g_previous_fatal[i], nullptr);
    g_raw_fd = -1;
}

} // namespace sandbox
