// SPDX-License-Identifier: Apache-2.0
#include "agent/exec_worker.hpp"

#include "agent/command_words.hpp"
#include "agent/supervisor.hpp"
#include "util/error.hpp"

#include <sys/socket.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

constexpr int k_send_buffer = 1 << 20;

struct Request {
    ExecMessage message;
    CommandWords words;
};

// Absent when the client went away before it had asked for anything.
std::optional<Request> read_request(WorkerConnection& connection) {
    const auto first = connection.read_frame();
    if (!first) return std::nullopt;
    if (first->type != FrameType::exec) throw WireError("an exec frame was expected");
    Request request{decode_exec(first->payload), {}};
    auto words = read_command(connection, request.message.argument_count, request.message.environment_count);
    if (!words) return std::nullopt;
    request.words = std::move(*words);
    return request;
}

LeaderSpec leader_spec(const ExecContext& context, Request& request) {
    const ExecMessage& message = request.message;
    LeaderSpec spec;
    spec.arguments = std::move(request.words.arguments);
    spec.environment = merge_environment(context.environment, request.words.environment);
    if (message.tty && !message.term.empty() && find_variable(request.words.environment, "TERM") == nullptr) {
        spec.environment = merge_environment(std::move(spec.environment), {"TERM=" + message.term});
    }
    spec.cwd = inside_workdir(context.session, message.cwd);
    spec.stdin_open = message.stdin_open;
    spec.tty = message.tty;
    spec.rows = static_cast<unsigned short>(message.rows);
    spec.columns = static_cast<unsigned short>(message.columns);
    return spec;
}

void say_done(int control) {
    // PID 1 counts the exec as over now, though this process may live on for what runs in the background.
    [[maybe_unused]] const ssize_t sent = ::write(control, &k_control_done, 1);
}

} // namespace

int run_exec_worker(WorkerConnection& connection, int control, const ExecContext& context) {
    // As much as the system lets a socket hold: fewer switches between command, worker and client.
    ::setsockopt(connection.fd(), SOL_SOCKET, SO_SNDBUF, &k_send_buffer, sizeof k_send_buffer);
    auto request = read_request(connection);
    if (!request || !is_still_there(connection.fd())) return 0;
    const LeaderSpec spec = leader_spec(context, *request);
    Supervisor supervisor(connection, control, context, request->message);
    supervisor.run(spec);
    say_done(control);
    supervisor.mind_background();
    return 0;
}

} // namespace sandbox::agent
