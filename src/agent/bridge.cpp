// SPDX-License-Identifier: Apache-2.0
#include "agent/bridge.hpp"

#include "util/error.hpp"
#include "util/poll_time.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

constexpr int k_connect_attempts = 100;
constexpr long k_attempt_pause_ns = 20'000'000;
constexpr std::size_t k_buffer = 256 << 10;

struct Address {
    sockaddr_un name{};
    socklen_t length = 0;
};

Address abstract_address(std::string_view name) {
    Address address;
    address.name.sun_family = AF_UNIX;
    std::copy_n(name.data(), std::min(name.size(), sizeof address.name.sun_path - 1), address.name.sun_path + 1);
    address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return address;
}

// The bridge may be started in the same moment as the container.
Fd connect_abstract(std::string_view name) {
    const Address address = abstract_address(name);
    for (int attempt = 0; attempt < k_connect_attempts; ++attempt) {
        Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.name), address.length) == 0) return socket;
        const timespec pause{0, k_attempt_pause_ns};
        ::nanosleep(&pause, nullptr);
    }
    return {};
}

// One direction. Each has its own buffer, so that a client that does not read still gets its signals through.
struct Lane {
    int from;
    int to;
    std::string buffer = std::string(k_buffer, '\0');
    std::size_t begin = 0;
    std::size_t end = 0;
    bool is_open = true;
    bool is_broken = false; // nobody reads: what comes is dropped

    bool is_empty() const { return begin == end; }
    pollfd reading() const { return {is_open && is_empty() ? from : -1, POLLIN, 0}; }
    pollfd writing() const { return {is_empty() ? -1 : to, POLLOUT, 0}; }

    void read() {
        const ssize_t count = ::read(from, buffer.data(), buffer.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
        is_open = count > 0;
        begin = 0;
        end = count > 0 && !is_broken ? static_cast<std::size_t>(count) : 0;
    }
    // One direction that has ended says nothing of the other: a result may still be on its way back.
    void write() {
        const ssize_t count = ::write(to, buffer.data() + begin, end - begin);
        if (count >= 0) {
            begin += static_cast<std::size_t>(count);
        } else if (errno != EAGAIN && errno != EINTR) {
            is_broken = true;
            begin = end;
        }
    }
};

} // namespace

bool carry_frames(int socket, int patience_ms) {
    Lane in{STDIN_FILENO, socket};
    Lane out{socket, STDOUT_FILENO};
    set_nonblocking(STDOUT_FILENO, true);
    set_nonblocking(socket, true);
    std::int64_t give_up_at = 0; // CLOCK_BOOTTIME; 0: not
    while (out.is_open || !out.is_empty()) {
        std::array<pollfd, 4> set{in.reading(), in.writing(), out.reading(), out.writing()};
        const int left = give_up_at == 0 ? -1 : poll_time_until(give_up_at);
        if (::poll(set.data(), set.size(), left) < 0) continue;
        if (left == 0) return false;
        if (set[1].revents != 0) in.write();
        if (set[2].revents != 0) out.read();
        if (set[3].revents != 0) out.write();
        if (set[0].revents != 0) in.read();
        // The client is gone. The agent ends the work and then the connection; leaving before that would be no help to it.
        if (!in.is_open && in.is_empty()) ::shutdown(socket, SHUT_WR);
        if (!in.is_open && patience_ms >= 0 && give_up_at == 0) give_up_at = boot_now_ms() + patience_ms;
    }
    return true;
}

Fd listen_abstract(std::string_view name) {
    const Address address = abstract_address(name);
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.name), address.length) != 0) return {};
    if (::listen(socket.get(), 16) != 0) return {};
    return socket;
}

int run_bridge(std::string_view name) {
    ::prctl(PR_SET_DUMPABLE, 0);
    // The session's end sends TERM to all; the bridge still has a result to carry then. Errors of write(2) say EPIPE.
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    const Fd socket = connect_abstract(name);
    if (!socket) {
        std::fputs("sandbox-agent: no agent answers in this container\n", stderr);
        return 1;
    }
    try {
        carry_frames(socket.get());
        return 0;
    } catch (const Error&) {
        return 1;
    }
}

} // namespace sandbox::agent
