// SPDX-License-Identifier: Apache-2.0
#include "agent/supervisor.hpp"

#include "util/error.hpp"
#include "util/poll_time.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

// A terminal has no count of bytes on their way from the program to its master side, so that one is read until it has been
// quiet for a moment, and no further than what can have been on the way.
constexpr std::int64_t k_terminal_quiet_ms = 30;
constexpr std::size_t k_terminal_left = 256 << 10;

constexpr std::int64_t k_farewell_ms = 10'000;

std::size_t bytes_waiting(int fd) {
    int count = 0;
    return ::ioctl(fd, FIONREAD, &count) == 0 && count > 0 ? static_cast<std::size_t>(count) : 0;
}

} // namespace

Supervisor::Supervisor(WorkerConnection& connection, int control, const ExecContext& context, const ExecMessage& request)
    : m_connection(connection), m_control(control), m_context(context), m_request(request), m_outbox(connection.fd()) {
    m_outputs[1].type = FrameType::stderr_data;
}

void Supervisor::run(const LeaderSpec& spec) {
    m_oom_before = m_context.oom != nullptr ? m_context.oom->read() : 0;
    m_started_at = boot_now_ms();
    if (m_request.timeout_ms > 0) m_timeout_at = m_started_at + m_request.timeout_ms;
    try {
        m_leader = start_leader(spec);
    } catch (const StartFailure& failure) {
        m_start_failure = failure;
        m_leader_ended = true;
        m_ended_at = boot_now_ms();
    }
    m_input = StdinPump(std::move(m_leader.input), spec.tty);
    m_outputs[0].fd = std::move(m_leader.output);
    m_outputs[1].fd = std::move(m_leader.errors);
    serve();
}

void Supervisor::serve() {
    // Input that came along with the request.
    take_frames();
    for (;;) {
        // Before the first poll, too: without a leader there is no SIGCHLD to wake it.
        if (is_over() && !m_is_draining) start_draining();
        if (is_over() && is_drained()) break;
        PollSet set = poll_set();
        if (::poll(set.data(), set.size(), poll_timeout()) < 0 && errno != EINTR) throw errno_error("poll");
        handle(set);
        check_deadlines();
    }
    if (!m_client_lost) send_result();
}

Supervisor::PollSet Supervisor::poll_set() const {
    PollSet set{};
    const auto watch = [&set](Slot slot, int fd, int events) {
        // A descriptor that nothing is wanted of is left out: poll would report its hang-up again and again.
        set[slot] = {events != 0 ? fd : -1, static_cast<short>(events), 0};
    };
    const bool can_read = (m_outbox.is_empty() || m_client_lost) && m_resume_at == 0;
    watch(k_client, m_connection.fd(), m_client_lost ? 0 : POLLIN | (m_outbox.is_empty() ? 0 : POLLOUT));
    watch(k_children, m_tree.fd(), POLLIN);
    watch(k_control, m_control, POLLIN);
    watch(k_input, m_input.fd(), m_input.wants_write() ? POLLOUT : 0);
    watch(k_output, m_outputs[0].fd.get(), can_read && !m_outputs[0].is_done() ? POLLIN : 0);
    watch(k_errors, m_outputs[1].fd.get(), can_read && !m_outputs[1].is_done() ? POLLIN : 0);
    return set;
}

int Supervisor::poll_timeout() const {
    std::int64_t next = 0;
    const std::int64_t quiet_at = m_outbox.is_empty() ? m_quiet_at : 0;
    for (const std::int64_t at : {m_timeout_at, m_kill_at, m_resume_at, quiet_at}) {
        if (at != 0 && (next == 0 || at < next)) next = at;
    }
    return next == 0 ? -1 : poll_time_until(next);
}

void Supervisor::handle(const PollSet& set) {
    if ((set[k_client].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_client();
    if ((set[k_client].revents & POLLOUT) != 0) flush();
    if ((set[k_control].revents & POLLIN) != 0) take_control();
    if (set[k_input].revents != 0) m_input.write();
    give_credit();
    if (set[k_output].revents != 0) pump(m_outputs[0]);
    if (set[k_errors].revents != 0) pump(m_outputs[1]);
    // Last, so that what the leader wrote before it ended is counted by FIONREAD and not raced for.
    if (set[k_children].revents != 0) reap();
}

void Supervisor::read_client() {
    try {
        if (!m_connection.fill()) return lose_client();
    } catch (const std::exception&) {
        return lose_client();
    }
    take_frames();
}

void Supervisor::take_frames() {
    try {
        while (const auto frame = m_connection.buffered_view()) take_frame(*frame);
    } catch (const WireError&) {
        lose_client();
    }
}

void Supervisor::give_credit() {
    const std::uint32_t credit = m_input.take_credit();
    if (credit == 0 || m_client_lost) return;
    m_outbox.add(encode_credit(credit));
    flush();
}

void Supervisor::take_frame(const FrameView& frame) {
    switch (frame.type) {
    case FrameType::stdin_data: return m_input.take(frame.payload);
    case FrameType::signal: return take_signal(static_cast<int>(decode_signal(frame.payload)));
    case FrameType::resize: {
        const auto [rows, columns] = decode_resize(frame.payload);
        const winsize size{static_cast<unsigned short>(rows), static_cast<unsigned short>(columns), 0, 0};
        if (m_request.tty) ::ioctl(m_outputs[0].fd.get(), TIOCSWINSZ, &size);
        return;
    }
    case FrameType::request: m_is_detached = m_reason == Reason::none && !m_leader_ended; return;
    default: throw WireError("unexpected frame in an exec");
    }
}

// The client is gone, or does not speak the protocol, which comes to the same.
void Supervisor::lose_client() {
    m_client_lost = true;
    m_input.close();
    begin_end(Reason::client_lost, SIGTERM);
}

void Supervisor::flush() {
    if (!m_client_lost && !m_outbox.flush()) lose_client();
}

void Supervisor::pump(Output& output) {
    if (!output.fd || !(m_outbox.is_empty() || m_client_lost)) return;
    const std::span<char> room = m_outbox.output_room(output.left.value_or(Outbox::k_chunk));
    const ssize_t count = ::read(output.fd.get(), room.data(), room.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return end_output(output);
    output.bytes += static_cast<std::uint64_t>(count);
    if (output.left) *output.left -= static_cast<std::size_t>(count);
    if (m_quiet_at != 0) m_quiet_at = boot_now_ms() + k_terminal_quiet_ms;
    if (m_client_lost) return;
    m_outbox.add_output(output.type, static_cast<std::size_t>(count));
    flush();
}

// A terminal that no program has open says EIO, not end of file. Closing our side would send HUP to a leader that is just
// exiting, or about to open /dev/tty again; so while there is one, it is only left alone for a moment.
void Supervisor::end_output(Output& output) {
    if (m_request.tty && !m_leader_ended) m_resume_at = boot_now_ms() + k_terminal_quiet_ms;
    else output.fd.reset();
}

void Supervisor::start_draining() {
    m_is_draining = true;
    m_resume_at = 0;
    m_timeout_at = 0;
    m_input.close();
    for (Output& output : m_outputs) {
        if (output.fd) output.left = m_request.tty ? k_terminal_left : bytes_waiting(output.fd.get());
    }
    if (m_request.tty) m_quiet_at = boot_now_ms() + k_terminal_quiet_ms;
}

bool Supervisor::is_drained() const {
    if (m_client_lost || m_is_detached) return true;
    const bool is_quiet = m_quiet_at != 0 && m_outbox.is_empty() && boot_now_ms() >= m_quiet_at;
    const bool is_read = is_quiet || (m_outputs[0].is_done() && m_outputs[1].is_done());
    return m_is_draining && is_read && m_outbox.is_empty();
}

void Supervisor::send_result() {
    m_outbox.add(encode(result()));
    flush();
    while (!m_client_lost && !m_outbox.is_empty()) {
        pollfd client{m_connection.fd(), POLLOUT, 0};
        ::poll(&client, 1, -1);
        flush();
    }
}

void Supervisor::mind_background() {
    m_outbox.release();
    m_input.close();
    // Input that the client still sends is dropped until it has read the result and hung up: a connection closed on it
    // would make a bridge, or the engine before it, fail while the result is on its way.
    const std::int64_t farewell_ends = boot_now_ms() + k_farewell_ms;
    bool has_client = !m_client_lost;
    std::array<char, 16384> scrap{};
    for (reap(); m_tree.has_children() || has_client; reap()) {
        std::array<pollfd, 4> set{pollfd{m_tree.fd(), POLLIN, 0}, pollfd{m_outputs[0].fd.get(), POLLIN, 0},
                                  pollfd{m_outputs[1].fd.get(), POLLIN, 0},
                                  pollfd{has_client ? m_connection.fd() : -1, POLLIN, 0}};
        const std::int64_t left = std::max<std::int64_t>(0, farewell_ends - boot_now_ms());
        // A command that took the right to poll from its supervisor loses its background: PID 1 ends what this process leaves.
        if (::poll(set.data(), set.size(), has_client ? static_cast<int>(left) : -1) < 0 && errno != EINTR) throw errno_error("poll");
        if (has_client && set[3].revents != 0) has_client = ::read(m_connection.fd(), scrap.data(), scrap.size()) > 0;
        if (has_client && boot_now_ms() >= farewell_ends) has_client = false;
        if (!has_client) ::shutdown(m_connection.fd(), SHUT_RDWR);
        for (std::size_t i = 0; i < m_outputs.size(); ++i) {
            if (set[i + 1].revents == 0) continue;
            const ssize_t count = ::read(m_outputs[i].fd.get(), scrap.data(), scrap.size());
            if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) m_outputs[i].fd.reset();
        }
    }
}

} // namespace sandbox::agent
