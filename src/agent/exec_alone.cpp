// SPDX-License-Identifier: Apache-2.0
#include "agent/exec_alone.hpp"

#include "agent/bridge.hpp"
#include "agent/exec_worker.hpp"
#include "agent/messages.hpp"
#include "agent/processes.hpp"
#include "util/error.hpp"
#include "util/pidfd.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <optional>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace sandbox::agent {
namespace {

constexpr int k_patience_ms = 4000; // for a supervisor whose client is gone: a command's grace, and a moment
constexpr int k_moment_ms = 200;    // from the end of its frames to its own

void block_all_signals() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
}

// The real user of a process; the owner of its directory in /proc would be root where it may not be looked into.
std::optional<uid_t> uid_of(pid_t pid) {
    const Fd file(::open(("/proc/" + std::to_string(pid) + "/status").c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 4096> text{};
    if (!file || ::read(file.get(), text.data(), text.size() - 1) <= 0) return std::nullopt;
    const std::string_view view(text.data());
    const auto line = view.find("\nUid:");
    unsigned uid = 0;
    if (line == std::string_view::npos || std::sscanf(text.data() + line, "\nUid: %u", &uid) != 1) return std::nullopt;
    return uid;
}

[[noreturn]] void run_supervisor(Fd frames, int control) {
    // Its standard streams are the engine's, which end with the call; a command that goes on in the background must not hold them.
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int fd = 0; null && fd < 3; ++fd) ::dup2(null.get(), fd);
    const OomCounter oom;
    ExecContext context;
    context.session = {"/", ::getuid(), ::getgid()};
    for (char** variable = environ; *variable != nullptr; ++variable) context.environment.emplace_back(*variable);
    context.oom = &oom;
    int status = 1;
    try {
        WorkerConnection connection(std::make_unique<SocketStream>(std::move(frames)));
        status = run_exec_worker(connection, control, context);
    } catch (const std::exception&) {
        // The client learns of it from the end of the stream.
    }
    ::_exit(status);
}

// Whoever is not this process and of the same user.
std::vector<Process> others_of_this_user() {
    std::vector<Process> all = list_processes();
    const uid_t own = ::getuid();
    std::erase_if(all, [own](const Process& process) { return process.pid == ::getpid() || !process.looks_alive() || uid_of(process.pid) != own; });
    return all;
}

// For a client that is gone, and may be the only one who would have swept: the command may have stopped or killed its supervisor. One that has
// stopped this process too is out of reach.
void carry_to_the_end(Fd frames, pid_t supervisor) {
    const Fd watched(static_cast<int>(::syscall(SYS_pidfd_open, supervisor, 0)));
    bool is_over = false;
    try {
        is_over = carry_frames(frames.get(), k_patience_ms);
    } catch (const Error&) {
        frames.reset(); // so that the supervisor hears of it
        is_over = has_ended(watched.get(), k_patience_ms);
    }
    if (!is_over) ::kill(supervisor, SIGKILL);
    if (!has_ended(watched.get(), k_moment_ms)) return; // it stays with what the command has left in the background
    int raw = 0;
    if (::waitpid(supervisor, &raw, 0) == supervisor && WIFSIGNALED(raw)) end_strangers(others_of_this_user, [] {});
}

} // namespace

int run_exec_alone() {
    block_all_signals();
    if (uid_of(1) == ::getuid()) {
        write_all(STDOUT_FILENO, encode(FailureMessage{"failed", "that is the session's own user: leave -u out"}));
        return 0;
    }
    int frames[2];
    int control[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, frames) != 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0) return 1;
    Fd ours(frames[0]);
    Fd its(frames[1]);
    // The end that PID 1 holds elsewhere stays open in the supervisor: there is nobody to say anything on it.
    const Fd control_end(control[0]);
    Fd its_control(control[1]);
    const pid_t pid = ::fork();
    if (pid < 0) return 1;
    if (pid == 0) {
        ours.reset();
        run_supervisor(std::move(its), its_control.get());
    }
    its.reset();
    its_control.reset();
    carry_to_the_end(std::move(ours), pid);
    return 0;
}

int run_sweep() {
    block_all_signals();
    if (uid_of(1) == ::getuid()) return 0;
    end_strangers(others_of_this_user, [] {});
    return others_of_this_user().empty() ? 0 : 1;
}

} // namespace sandbox::agent
