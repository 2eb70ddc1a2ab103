// SPDX-License-Identifier: Apache-2.0
#include "util/terminal.hpp"

#include "util/fd.hpp"

#include <csignal>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sandbox;

namespace {

struct Pty {
    Fd master{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
    Fd slave;
    Pty() {
        REQUIRE(::grantpt(master.get()) == 0);
        REQUIRE(::unlockpt(master.get()) == 0);
        slave.reset(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
        REQUIRE(slave);
    }
    bool is_cooked() const {
        termios settings{};
        REQUIRE(::tcgetattr(slave.get(), &settings) == 0);
        return (settings.c_lflag & ICANON) != 0 && (settings.c_lflag & ECHO) != 0;
    }
};

} // namespace

TEST_CASE("terminal: raw mode lasts as long as its object") {
    const Pty pty;
    {
        const RawTty raw(pty.slave.get());
        CHECK_FALSE(pty.is_cooked());
    }
    CHECK(pty.is_cooked());
}

TEST_CASE("terminal: a signal that ends the program gives the terminal back") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT}) {
        CAPTURE(signal);
        const Pty pty;
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            for (const int fatal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT}) ::signal(fatal, SIG_DFL);
            const RawTty raw(pty.slave.get());
            if (pty.is_cooked()) ::_exit(1);
            ::raise(signal);
            ::_exit(2);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == signal);
        CHECK(pty.is_cooked());
    }
}

TEST_CASE("terminal: what the caller has the program ignore stays ignored") {
    const Pty pty;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::signal(SIGHUP, SIG_IGN);
        const RawTty raw(pty.slave.get());
        ::raise(SIGHUP);
        ::_exit(pty.is_cooked() ? 1 : 0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("terminal: what is no terminal is refused") {
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    CHECK_FALSE(is_terminal(null.get()));
    CHECK_THROWS(RawTty(null.get()));
    CHECK(terminal_size(null.get()).columns == 80);
}
