// SPDX-License-Identifier: Apache-2.0
#include "agent/keeper.hpp"

#include "util/error.hpp"
#include "util/poll_time.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

// And never more than the log keeps, or a follower who is as fast as can be would miss what was dropped within one read.
constexpr std::size_t k_read_size = 128 << 10;
// Of what lies in a pipe when everybody who could write to it has ended, but somebody else keeps it open.
constexpr std::size_t k_max_drain = 4 << 20;
constexpr std::int64_t k_port_pause_ms = 50;

std::optional<ManagedStart> read_start(WorkerConnection& connection) {
    const auto frame = connection.read_frame();
    if (!frame) return std::nullopt;
    if (frame->type != FrameType::request) throw WireError("a request was expected");
    return decode_managed_start(frame->payload);
}

ManagedInfo first_info(const ManagedStart& request, const std::vector<std::string>& arguments, const std::string& cwd) {
    ManagedInfo info;
    info.name = request.name;
    set_told_command(info, arguments);
    info.cwd = cwd.substr(0, k_max_told_cwd);
    info.started_ms = wall_now_ms();
    info.max_restarts = request.max_restarts;
    info.keep_alive = request.keep_alive;
    return info;
}

LeaderSpec spec_of(const ExecContext& context, const ManagedStart& request, CommandWords words) {
    LeaderSpec spec;
    spec.arguments = std::move(words.arguments);
    spec.environment = merge_environment(context.environment, words.environment);
    spec.cwd = inside_workdir(context.session, request.cwd);
    return spec;
}

// Asks PID 1 for a place. Absent when the client was told why there is none, or the session ends.
std::optional<std::string> claim(WorkerConnection& connection, int control, const ManagedInfo& info, std::uint32_t max_processes) {
    say(control, ControlWord::claim, [&](Writer& writer) { append_info(writer.u32(max_processes), info); });
    bool is_over = false;
    const auto answer = hear(control, 0, is_over);
    if (!answer || answer->word == ControlWord::expired) return std::nullopt;
    Reader reader(answer->fields);
    if (answer->word == ControlWord::granted) return std::string(reader.text());
    const std::string code(reader.text());
    connection.write(encode(FailureMessage{code, std::string(reader.text())}));
    return std::nullopt;
}

} // namespace

int run_keeper(WorkerConnection& connection, int control, const ExecContext& context) {
    const auto request = read_start(connection);
    if (!request) return 0;
    auto words = read_command(connection, request->argument_count, request->environment_count);
    if (!words || !is_still_there(connection.fd())) return 0;
    LeaderSpec spec = spec_of(context, *request, std::move(*words));
    ManagedInfo info = first_info(*request, spec.arguments, spec.cwd);
    const auto id = claim(connection, control, info, request->max_processes);
    if (!id) return 0;
    info.id = *id;
    Fd starter(::fcntl(connection.fd(), F_DUPFD_CLOEXEC, 3));
    connection.release().reset();
    Keeper(std::move(starter), control, context, *request, std::move(spec), std::move(info)).run();
    return 0;
}

Keeper::Keeper(Fd starter, int control, const ExecContext& context, const ManagedStart& request, LeaderSpec spec, ManagedInfo info)
    : m_control(control), m_context(context), m_grace_ms(std::max<std::int64_t>(request.grace_ms, 0)), m_spec(std::move(spec)), m_info(std::move(info)),
      m_log(std::clamp(request.log_limit, k_min_log, k_max_log)),
      m_buffer(std::min<std::size_t>(k_read_size, std::clamp(request.log_limit, k_min_log, k_max_log))) {
    m_clients.emplace_back(std::move(starter), Operation::start_process, 0);
    if (!request.awaits_readiness()) return;
    m_readiness.emplace(static_cast<std::uint16_t>(request.ready_port), request.ready_log);
    m_ready_until = boot_now_ms() + std::max<std::int64_t>(request.ready_timeout_ms, 1);
}

void Keeper::run() {
    start();
    while (!m_is_let_go && !(m_is_failed && m_clients.empty())) poll_once();
}

void Keeper::poll_once() {
    const bool awaits_start = m_leader_runs && !m_is_start_known;
    std::vector<pollfd> set{{m_control, POLLIN, 0}, {m_tree.fd(), POLLIN, 0}, {m_outputs[0].fd.get(), POLLIN, 0},
                            {m_outputs[1].fd.get(), POLLIN, 0}, {awaits_start ? m_leader.status.get() : -1, POLLIN, 0}};
    const std::size_t own = set.size();
    for (const KeeperClient& client : m_clients) set.push_back({client.fd(), static_cast<short>(POLLIN | (client.wants_write() ? POLLOUT : 0)), 0});
    if (::poll(set.data(), set.size(), poll_timeout()) < 0 && errno != EINTR) throw errno_error("poll");
    auto entry = set.cbegin() + static_cast<std::ptrdiff_t>(own);
    for (auto client = m_clients.begin(); client != m_clients.end(); ++entry) {
        const bool is_there = (entry->revents & (POLLIN | POLLHUP | POLLERR)) == 0 || client->look();
        if (!is_there) finish(*client);
        client = is_there ? std::next(client) : m_clients.erase(client);
    }
    if (set[0].revents != 0) hear_control();
    for (std::size_t i = 0; i < m_outputs.size(); ++i) {
        if (set[2 + i].revents != 0) pump(m_outputs[i]);
    }
    if (set[4].revents != 0) look_at_start();
    // After the streams, so that what the process printed before it ended is in the log when its end is told.
    if (set[1].revents != 0) reap();
    check_times();
    check_readiness();
    serve_clients();
}

std::int64_t Keeper::next_event() const {
    std::int64_t next = 0;
    for (const std::int64_t at : {m_kill_at, m_restart_at, m_readiness ? m_ready_until : 0, m_readiness && m_is_start_known ? m_look_at_port_at : 0}) {
        if (at != 0 && (next == 0 || at < next)) next = at;
    }
    return next;
}

int Keeper::poll_timeout() const {
    const std::int64_t next = next_event();
    return next == 0 ? -1 : poll_time_until(next);
}

void Keeper::pump(Output& output) {
    if (!output.fd) return;
    const ssize_t count = ::read(output.fd.get(), m_buffer.data(), m_buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return output.fd.reset();
    const std::string_view bytes(m_buffer.data(), static_cast<std::size_t>(count));
    m_log.add(output.stream, bytes, wall_now_ms());
    if (m_readiness) m_readiness->take(output.stream, bytes);
}

// Nobody of the process is left: what it printed lies in the pipes, and nothing more belongs to it.
void Keeper::drain() {
    for (Output& output : m_outputs) {
        for (std::size_t drained = 0; output.fd && drained < k_max_drain; drained += m_buffer.size()) {
            pollfd readable{output.fd.get(), POLLIN, 0};
            if (::poll(&readable, 1, 0) <= 0) break;
            serve_clients(); // or a follower would miss what is dropped on the way to the end
            pump(output);
        }
        output.fd.reset();
    }
}

void Keeper::check_times() {
    const std::int64_t now = boot_now_ms();
    if (m_kill_at != 0 && now >= m_kill_at) kill_tree();
    if (m_restart_at != 0 && now >= m_restart_at) start();
    // Not before the command is executed: until then its process is a copy of this one, and nobody may look at its descriptors.
    if (m_readiness && m_is_start_known && m_readiness->awaits_port() && now >= m_look_at_port_at) {
        m_readiness->look_at_port(descendants_of(::getpid()));
        m_look_at_port_at = m_readiness->awaits_port() ? now + k_port_pause_ms : 0;
    }
}

} // namespace sandbox::agent
