// SPDX-License-Identifier: Apache-2.0
// run_capture() of util/process.hpp: one poll loop over three pipes, the process and the deadline.
#include "util/error.hpp"
#include "util/poll_time.hpp"
#include "util/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <poll.h>
#include <unistd.h>

namespace sandbox {
namespace {

class Capture {
  public:
    Capture(Child& child, std::string_view input, const CaptureLimits& limits)
        : m_child(child), m_input(input), m_limits(limits), m_deadline(boot_now_ms() + limits.timeout.count()) {
        for (const Fd* pipe : {&child.in(), &child.out(), &child.err()}) set_nonblocking(pipe->get(), true);
        if (m_input.empty()) child.in().reset();
    }

    Captured run() {
        while (!has_ended()) {}
        // What the command wrote before it ended is in the pipes by now; what a child of its writes later is not ours.
        drain(m_child.out(), m_result.out);
        drain(m_child.err(), m_result.err);
        // The leader is not reaped yet, so the group's number is still its own.
        m_child.kill(SIGKILL);
        m_result.status = m_child.wait();
        return std::move(m_result);
    }

  private:
    // One turn of the loop; true when the process has ended.
    bool has_ended() {
        std::array<pollfd, 4> polled{pollfd{m_child.pidfd(), POLLIN, 0}, pollfd{m_child.in().get(), POLLOUT, 0},
                                     pollfd{m_child.out().get(), POLLIN, 0}, pollfd{m_child.err().get(), POLLIN, 0}};
        const int ready = ::poll(polled.data(), polled.size(), time_left());
        if (ready < 0 && errno != EINTR) throw errno_error("cannot wait for a command");
        if (ready < 0) return false;
        if (ready == 0) {
            m_result.timed_out = true;
            return true;
        }
        if (polled[1].revents != 0) feed();
        if (polled[2].revents != 0) drain(m_child.out(), m_result.out);
        if (polled[3].revents != 0) drain(m_child.err(), m_result.err);
        return polled[0].revents != 0;
    }

    int time_left() const {
        return m_limits.timeout.count() <= 0 ? -1 : poll_time_until(m_deadline);
    }

    void feed() {
        const ssize_t count = ::write(m_child.in().get(), m_input.data(), m_input.size());
        if (count > 0) m_input.remove_prefix(static_cast<std::size_t>(count));
        const bool is_refused = count < 0 && errno != EAGAIN && errno != EINTR; // EPIPE: it has read all it wants
        if (is_refused || m_input.empty()) m_child.in().reset();
    }

    // Reads what is there. A flood is left to the next turn, so that the deadline is looked at.
    void drain(Fd& pipe, std::string& kept) {
        std::array<char, 65536> buffer;
        for (int turn = 0; pipe && turn < 16; ++turn) {
            const ssize_t count = ::read(pipe.get(), buffer.data(), buffer.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0 && errno == EAGAIN) return;
            if (count <= 0) return pipe.reset();
            const std::size_t room = m_limits.max_output - kept.size();
            const auto size = static_cast<std::size_t>(count);
            kept.append(buffer.data(), std::min(room, size));
            m_result.truncated = m_result.truncated || size > room;
        }
    }

    Child& m_child;
    std::string_view m_input;
    CaptureLimits m_limits;
    std::int64_t m_deadline;
    Captured m_result;
};

// The write to a command that stopped reading must be an EPIPE, not our end. Only this thread, only for now.
class BlockedPipeSignal {
  public:
    BlockedPipeSignal() {
        sigemptyset(&m_pipe);
        sigaddset(&m_pipe, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &m_pipe, &m_before);
    }
    BlockedPipeSignal(const BlockedPipeSignal&) = delete;
    BlockedPipeSignal& operator=(const BlockedPipeSignal&) = delete;
    ~BlockedPipeSignal() {
        if (sigismember(&m_before, SIGPIPE) == 1) return;
        // Takes back what is pending, or unblocking would deliver it.
        const timespec at_once{};
        while (::sigtimedwait(&m_pipe, nullptr, &at_once) < 0 && errno == EINTR) {}
        ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
    }

  private:
    sigset_t m_pipe{};
    sigset_t m_before{};
};

} // namespace

Captured run_capture(const std::vector<std::string>& argv, std::string_view stdin_text, const CaptureLimits& limits) {
    const BlockedPipeSignal blocked;
    Child child({.argv = argv, .in = Stdio::pipe(), .out = Stdio::pipe(), .err = Stdio::pipe()});
    return Capture(child, stdin_text, limits).run();
}

} // namespace sandbox
