// SPDX-License-Identifier: Apache-2.0
#include "agent/exec_worker.hpp"

#include "agent/bridge.hpp"
#include "agent/supervisor.hpp"
#include "util/error.hpp"

#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

constexpr int k_send_buffer = 1 << 20;

struct Request {
    ExecMessage message;
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
};

// Absent when the client went away before it had asked for anything.
std::optional<Request> read_request(WorkerConnection& connection) {
    const auto first = connection.read_frame();
    if (!first) return std::nullopt;
    if (first->type != FrameType::exec) throw WireError("an exec frame was expected");
    Request request{decode_exec(first->payload), {}, {}};
    const std::size_t arguments = request.message.argument_count;
    if (arguments == 0) throw WireError("a command without a name");
    ItemCollector items(arguments + request.message.environment_count);
    for (;;) {
        const auto frame = connection.read_view();
        if (!frame) return std::nullopt;
        if (items.take(*frame)) break;
    }
    const auto middle = items.items().begin() + static_cast<std::ptrdiff_t>(arguments);
    request.arguments.assign(std::make_move_iterator(items.items().begin()), std::make_move_iterator(middle));
    request.environment.assign(std::make_move_iterator(middle), std::make_move_iterator(items.items().end()));
    return request;
}

// A client that gave up while its request waited (in a paused container, say) must not have it run later.
bool is_still_there(int fd) {
    char byte = 0;
    const ssize_t count = ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count != 0;
}

LeaderSpec leader_spec(const ExecContext& context, Request& request) {
    const ExecMessage& message = request.message;
    LeaderSpec spec;
    spec.arguments = std::move(request.arguments);
    spec.environment = merge_environment(context.environment, request.environment);
    if (message.tty && !message.term.empty() && find_variable(request.environment, "TERM") == nullptr) {
        spec.environment = merge_environment(std::move(spec.environment), {"TERM=" + message.term});
    }
    spec.cwd = message.cwd.starts_with('/') ? message.cwd : context.session.workdir + "/" + message.cwd;
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
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
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

int run_exec_alone() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    int frames[2];
    int control[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, frames) != 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0) return 1;
    Fd ours(frames[0]);
    Fd its(frames[1]);
    Fd control_end(control[0]);
    Fd its_control(control[1]);
    const pid_t pid = ::fork();
    if (pid < 0) return 1;
    if (pid == 0) {
        // Its standard streams are the engine's, which end with the call; a command that goes on in the background must not hold them.
        const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
        for (int fd = 0; null && fd < 3; ++fd) ::dup2(null.get(), fd);
        ours.reset();
        // The other end of the control socket, which PID 1 holds elsewhere, stays open here: there is nobody to say anything on it.
        const OomCounter oom;
        ExecContext context;
        context.session = {"/", ::getuid(), ::getgid()};
        for (char** variable = environ; *variable != nullptr; ++variable) context.environment.emplace_back(*variable);
        context.oom = &oom;
        WorkerConnection connection(std::make_unique<SocketStream>(std::move(its)));
        ::_exit(run_exec_worker(connection, its_control.get(), context));
    }
    its.reset();
    its_control.reset();
    carry_frames(ours.get());
    return 0;
}

} // namespace sandbox::agent
