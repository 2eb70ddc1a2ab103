// SPDX-License-Identifier: Apache-2.0
#include "channel/command_items.hpp"
#include "channel/connection.hpp"
#include "channel/exec_over.hpp"
#include "channel/exec_signals.hpp"
#include "util/poll_time.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <poll.h>
#include <string.h>
#include <unistd.h>

namespace sandbox::channel {
namespace {

using agent::FrameType;
using agent::FrameView;
using agent::Operation;

constexpr std::size_t k_input_piece = 128 << 10;
constexpr Milliseconds k_confirm_patience{5000}; // for the agent to say that the command has been ended
constexpr Milliseconds k_probe_patience{2000};
constexpr Milliseconds k_first_patience{500}; // before somebody else is asked whether it can
constexpr Milliseconds k_least_hello_patience{1000};

std::string encode_request(const ExecRequest& request, const std::vector<std::string>& items) {
    agent::ExecMessage message;
    message.stdin_open = request.stdin_open;
    message.tty = request.tty.has_value();
    message.rows = request.tty ? request.tty->rows : 0;
    message.columns = request.tty ? request.tty->columns : 0;
    message.timeout_ms = request.timeout.count();
    message.grace_ms = request.grace.count();
    message.argument_count = static_cast<std::uint32_t>(request.argv.size());
    message.environment_count = static_cast<std::uint32_t>(request.env.size());
    message.cwd = request.cwd;
    message.term = request.term;
    std::string frames = agent::encode(message);
    agent::append_items(frames, items);
    return frames;
}

// A terminal that is gone answers the question whether it is one with EIO; whatever is none says ENOTTY.
bool is_or_was_terminal(int fd) { return ::isatty(fd) == 1 || errno == EIO; }

// A stdin that is closed, or a terminal that is gone, has no more to say than one at its end. Whatever else cannot be read
// would look complete to the command although it is not.
bool is_like_end(int fd, int error) { return error == EBADF || (error == EIO && is_or_was_terminal(fd)); }

bool is_due(std::int64_t at, std::int64_t now) { return at != 0 && now >= at; }

// The time until the first of them, as poll(2) takes it; 0 is none of them.
int time_to(std::initializer_list<std::int64_t> moments) {
    std::int64_t first = INT64_MAX;
    for (const std::int64_t at : moments) first = at == 0 ? first : std::min(first, at);
    return first == INT64_MAX ? -1 : poll_time_until(first);
}

bool wait_writable_alone(int fd, std::int64_t until) {
    for (;;) {
        pollfd writable{fd, POLLOUT, 0};
        if (::poll(&writable, 1, time_to({until})) > 0) return true;
        if (is_due(until, boot_now_ms())) return false;
    }
}

// One exec from its first frame to its last.
class ExecCall {
  public:
    // `on_silence` as in Link.
    ExecCall(agent::FramedStream connection, std::uint32_t version, const ExecRequest& request, ExecIo& io, std::function<void()> on_silence, Life life)
        : m_connection(std::move(connection)), m_io(io), m_on_silence(std::move(on_silence)), m_life(std::move(life)), m_grace(request.grace), m_reads_input(request.stdin_open && io.stdin_fd >= 0),
          m_may_detach(!io.detach_keys.empty() && version >= agent::k_live_version) {
        if (request.timeout.count() > 0) {
            expect_end(request.timeout + m_grace);
            if (m_on_silence) m_ask_at = boot_now_ms() + (request.timeout + k_first_patience).count();
        }
        if (m_on_silence && m_life.ask && m_life.ends_at != 0) m_look_at = m_life.ends_at + k_first_patience.count();
        if (request.stdin_open && !m_reads_input) send_frame(m_connection, agent::frame_header(FrameType::stdin_data, 0));
    }

    // Absent when the stream ended without a result.
    std::optional<ExecResult> run(const std::function<WindowSize()>& window_size) {
        if (m_io.take_signals) m_signals.emplace(m_connection, window_size);
        m_io.wait_writable = [this](int fd) { return wait_writable(fd); };
        return serve();
    }
    // The signal that ended the command; 0: none.
    int end_signal() const { return m_signals ? m_signals->end_signal() : 0; }
    // The time was over, and the container does not run: nothing more will come.
    bool is_frozen() const { return m_is_frozen; }
    // The session's time is over, and its container does not run, so that it does not end.
    bool is_expired() const { return m_is_expired; }
    // Nobody took the output before the command's time was over, and some of it is lost.
    bool has_lost_output() const { return m_drops_output; }
    // What on_output threw, or that standard input could not be read.
    std::exception_ptr failure() const { return m_failure; }

  private:
    std::optional<ExecResult> serve();
    bool fill();
    std::optional<ExecResult> take(const FrameView& frame);
    void give(OutputStream stream, std::string_view bytes);
    void give_up_on_command(std::exception_ptr why);
    void take_signal();
    void send_input();
    std::size_t before_detach(std::string_view input);
    void expect_end(Milliseconds within);
    bool wait_writable(int fd);
    bool is_frozen_now() const;
    void look_at_life();
    bool is_over();
    bool may_send_input() const { return m_reads_input && m_credit > 0; }

    agent::FramedStream m_connection;
    ExecIo& m_io;
    std::function<void()> m_on_silence;
    Life m_life;
    Milliseconds m_grace;
    std::int64_t m_ask_at = 0; // when m_on_silence is to be called once, CLOCK_BOOTTIME; 0: not
    std::int64_t m_look_at = 0; // when m_life may be over, CLOCK_BOOTTIME; 0: never
    bool m_is_frozen = false;
    bool m_is_expired = false;
    bool m_drops_output = false;
    // When a silent agent is given up on (frozen, or subverted), CLOCK_BOOTTIME; 0: the command may take as long as it likes.
    std::int64_t m_give_up_at = 0;
    bool m_reads_input;
    bool m_may_detach;
    std::string m_typed; // as many of the keys to detach as have come one after the other
    std::size_t m_credit = agent::k_stdin_window;
    std::string m_input;
    std::exception_ptr m_failure;
    std::optional<SignalForwarder> m_signals;
};

std::optional<ExecResult> ExecCall::serve() {
    for (;;) {
        while (const auto frame = m_connection.buffered_view()) {
            if (auto result = take(*frame)) return result;
        }
        std::array<pollfd, 3> set{pollfd{m_connection.fd(), POLLIN, 0},
                                  pollfd{may_send_input() ? m_io.stdin_fd : -1, POLLIN, 0},
                                  pollfd{m_signals ? m_signals->fd() : -1, POLLIN, 0}};
        const bool is_buffered = m_connection.stream().buffered();
        const int ready = ::poll(set.data(), set.size(), is_buffered ? 0 : time_to({m_ask_at, m_look_at, m_give_up_at}));
        if (ready < 0) continue;
        // What nobody reads keeps nobody waiting, however much there is of it.
        const bool is_silent = ready == 0 && !is_buffered;
        if ((is_silent || m_drops_output) && is_over()) return std::nullopt;
        if (set[2].revents != 0) take_signal();
        if (set[1].revents != 0) send_input();
        if ((is_buffered || set[0].revents != 0) && !fill()) return std::nullopt;
    }
}

void ExecCall::take_signal() {
    m_signals->pass_on();
    if (m_signals->is_impatient()) expect_end(Milliseconds(0));
    else if (m_signals->end_signal() != 0) expect_end(m_grace);
}

// The time-outs are kept inside the container. This is for an agent that cannot keep them any more, and counts from its last word.
void ExecCall::expect_end(Milliseconds within) {
    const std::int64_t at = boot_now_ms() + within.count() + k_confirm_patience.count();
    if (m_give_up_at == 0 || at < m_give_up_at) m_give_up_at = at;
}

bool ExecCall::is_frozen_now() const {
    try {
        m_on_silence();
        return false;
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        return error.code() == ErrorCode::session_unreachable;
    }
}

// As long as the container runs, its agent ends the session by itself, and this call with it.
void ExecCall::look_at_life() {
    const std::int64_t ends_at = m_life.ask();
    const std::int64_t now = boot_now_ms();
    m_look_at = ends_at == 0 ? 0 : std::max(ends_at + k_first_patience.count(), now + k_confirm_patience.count());
    m_is_expired = ends_at != 0 && ends_at <= now && is_frozen_now();
}

// Whether nothing more is to be waited for. A frozen agent keeps no time-out, and its caller must not wait for whoever thaws it.
bool ExecCall::is_over() {
    const std::int64_t now = boot_now_ms();
    if (is_due(m_ask_at, now)) {
        m_ask_at = 0;
        m_is_frozen = is_frozen_now();
    }
    if (is_due(m_look_at, now)) look_at_life();
    return m_is_frozen || m_is_expired || is_due(m_give_up_at, now);
}

// The command's time is the caller's too: a reader that stalls does not lengthen it.
bool ExecCall::wait_writable(int fd) {
    if (m_drops_output) return false;
    if (m_signals ? m_signals->wait_writable(fd, m_give_up_at) : wait_writable_alone(fd, m_give_up_at)) return true;
    if (end_signal() != 0) {
        expect_end(m_grace);
        return false;
    }
    m_drops_output = true;
    m_give_up_at = boot_now_ms() + k_confirm_patience.count();
    return false;
}

// False at the end of the stream, however it came about.
bool ExecCall::fill() {
    try {
        return m_connection.fill();
    } catch (const agent::CutStream&) {
        return false;
    } catch (const Error&) {
        return false;
    }
}

std::optional<ExecResult> ExecCall::take(const FrameView& frame) {
    switch (frame.type) {
    case FrameType::stdout_data: give(OutputStream::out, frame.payload); return std::nullopt;
    case FrameType::stderr_data: give(OutputStream::err, frame.payload); return std::nullopt;
    case FrameType::credit:
        m_credit = std::min<std::size_t>(m_credit + agent::decode_credit(frame.payload), agent::k_stdin_window);
        return std::nullopt;
    case FrameType::result: return public_result(frame.payload);
    case FrameType::failure: throw agent_failure(frame.payload);
    default: throw agent::WireError("unexpected frame in an exec");
    }
}

void ExecCall::give(OutputStream stream, std::string_view bytes) {
    if (m_failure || m_drops_output || !m_io.on_output || bytes.empty()) return;
    try {
        m_io.on_output(stream, bytes);
    } catch (...) {
        give_up_on_command(std::current_exception());
    }
}

// Nobody wants the output any more, or the input has a hole: the command's tree goes, and the caller hears of it once it is
// gone. The input gets no end, which the command would take for a complete one.
void ExecCall::give_up_on_command(std::exception_ptr why) {
    m_failure = std::move(why);
    m_reads_input = false;
    send_frame(m_connection, agent::encode_signal(SIGTERM));
    expect_end(m_grace);
}

void ExecCall::send_input() {
    m_input.resize(std::min(k_input_piece, m_credit));
    const ssize_t count = ::read(m_io.stdin_fd, m_input.data(), m_input.size());
    const int error = count < 0 ? errno : 0;
    if (error == EINTR || error == EAGAIN) return;
    if (error != 0 && !is_like_end(m_io.stdin_fd, error)) {
        return give_up_on_command(std::make_exception_ptr(errno_error("cannot read standard input", error)));
    }
    const std::size_t size = count > 0 ? static_cast<std::size_t>(count) : 0;
    const std::size_t meant = m_may_detach ? before_detach(std::string_view(m_input).substr(0, size)) : size;
    if (size == 0 || meant > 0) {
        m_credit -= meant;
        send_frame(m_connection, agent::frame_header(FrameType::stdin_data, meant).append(m_input, 0, meant));
    }
    m_reads_input = size > 0 && meant == size;
    if (meant == size) return;
    send_frame(m_connection, agent::Writer(FrameType::request).finish());
    expect_end(Milliseconds(0));
}

// How much of the input is for the command: all of it, but for the key that completes the keys to detach, and what follows.
std::size_t ExecCall::before_detach(std::string_view input) {
    for (std::size_t i = 0; i < input.size(); ++i) {
        m_typed += input[i];
        while (!m_io.detach_keys.starts_with(m_typed)) m_typed.erase(0, 1);
        if (m_typed.size() == m_io.detach_keys.size()) return i;
    }
    return input.size();
}

// A caller who limits the command's time does not want to wait longer than that for its start.
std::optional<Milliseconds> start_patience(Milliseconds timeout) {
    if (timeout.count() == 0) return std::nullopt;
    return std::max(timeout, k_least_hello_patience);
}

bool still_answers(const Link& link) {
    try {
        agent::FramedStream connection(link.dial());
        read_hello(connection, boot_now_ms() + k_probe_patience.count());
        return true;
    } catch (const Error&) {
        return false;
    }
}

ExecResult expired_result() {
    ExecResult result;
    result.outcome = Outcome::expired;
    return result;
}

// A command that has ended well with half of its output unread is no success.
ExecResult with_lost_output(ExecResult result, const ExecCall& call) {
    const bool has_ended = result.outcome == Outcome::exited || result.outcome == Outcome::signaled || result.outcome == Outcome::timed_out;
    if (!call.has_lost_output() || !has_ended) return result;
    if (result.outcome == Outcome::exited) result.exit_status = -1;
    result.outcome = Outcome::timed_out;
    result.message = k_unread;
    return result;
}

ExecResult lost_result(const Link& link, const ExecCall& call) {
    if (call.is_expired()) return expired_result();
    if (call.is_frozen() || !still_answers(link)) {
        throw Error(ErrorCode::session_unreachable, "the session ended or stopped answering while the command ran");
    }
    ExecResult result;
    result.outcome = Outcome::aborted;
    return result;
}

// What the caller is to hear in place of a result, if anything.
void throw_failure(const ExecCall& call) {
    if (call.failure()) std::rethrow_exception(call.failure());
    if (const int number = call.end_signal(); number != 0) {
        throw Error(ErrorCode::interrupted, std::string("interrupted by SIG") + ::sigabbrev_np(number)).signal(number);
    }
}

// In a frozen session it cannot be done. That the caller was ended comes first.
void end_what_is_left(const ExecCall& call, const std::function<void()>& end_all) {
    try {
        end_all();
    } catch (const Error&) {
        throw_failure(call);
        throw;
    }
}

// Absent when the stream ended without a result.
std::optional<ExecResult> carry_out(ExecCall& call, const ExecRequest& request, const ExecIo& io) {
    if (io.on_begin) io.on_begin();
    try {
        return call.run(request.tty ? io.window_size : nullptr);
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    }
}

// Whether the agent knows how to detach decides whether the keys are looked for, so there its version is waited for.
ExecCall begin(const Link& link, const ExecRequest& request, const std::vector<std::string>& items, ExecIo& io, Life life) {
    std::string frames = encode_request(request, items);
    if (io.detach_keys.empty()) {
        return {open_connection(link, Operation::exec, frames, start_patience(request.timeout)), 0, request, io, link.on_silence, std::move(life)};
    }
    auto [connection, version] = open_tree_connection(link, Operation::exec, [&](std::uint32_t) { return frames; });
    return {std::move(connection), version, request, io, link.on_silence, std::move(life)};
}

} // namespace

std::string_view outcome_name(Outcome outcome) {
    switch (outcome) {
    case Outcome::exited: return "exited";
    case Outcome::signaled: return "signaled";
    case Outcome::timed_out: return "timed_out";
    case Outcome::oom: return "oom";
    case Outcome::aborted: return "aborted";
    case Outcome::expired: return "expired";
    case Outcome::start_failed: return "start_failed";
    case Outcome::detached: return "detached";
    }
    return "aborted";
}

ExecResult exec(const Link& link, const ExecRequest& request, ExecIo& io) { return exec(link, request, io, Life{}); }

ExecResult exec(const Link& link, const ExecRequest& request, ExecIo& io, Life life) {
    if (request.argv.empty()) throw Error(ErrorCode::usage, "no command");
    const std::vector<std::string> items = command_items(request.argv, request.env);
    if (is_too_big(items)) return too_big();
    ExecCall call = begin(link, request, items, io, std::move(life));
    const auto result = carry_out(call, request, io);
    throw_failure(call);
    return result ? with_lost_output(*result, call) : lost_result(link, call);
}

std::optional<ExecResult> exec_over(std::unique_ptr<Stream> stream, const ExecRequest& request, ExecIo& io, const std::function<void()>& on_silence,
                                    Life life, const std::function<void()>& end_all) {
    if (request.argv.empty()) throw Error(ErrorCode::usage, "no command");
    const std::vector<std::string> items = command_items(request.argv, request.env);
    if (is_too_big(items)) return too_big();
    agent::FramedStream connection(std::move(stream));
    send_frame(connection, encode_request(request, items));
    ExecCall call(std::move(connection), agent::k_protocol_version, request, io, on_silence, std::move(life));
    const auto result = carry_out(call, request, io);
    if (!result && call.is_expired()) return expired_result(); // and what it has left ends with the session
    if (!result) end_what_is_left(call, end_all);
    throw_failure(call);
    return result ? std::optional(with_lost_output(*result, call)) : std::nullopt;
}

} // namespace sandbox::channel
