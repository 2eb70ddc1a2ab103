// SPDX-License-Identifier: Apache-2.0
#include "agent/leader.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unordered_map>

namespace sandbox::agent {
namespace {

constexpr int k_pipe_size = 1 << 20;
constexpr int k_status_fd = 3;
constexpr std::string_view k_default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

enum class Step : int { chdir, exec, tty };
constexpr std::array<const char*, 3> k_step_names{"chdir", "exec", "tty"};

// What the child writes when it cannot become the command.
struct StartReport {
    Step step;
    int error;
};

// All that the child needs, made before the fork: afterwards it only makes system calls.
struct Prepared {
    std::vector<std::string> candidates; // paths to try, in order
    std::vector<char*> arguments;
    std::vector<char*> environment;
    std::array<int, 3> standard{};
    const char* cwd = nullptr;
    bool tty = false;
    int status = -1;
};

std::vector<std::string> exec_candidates(const LeaderSpec& spec) {
    const std::string& name = spec.arguments.front();
    if (name.empty()) return {};
    if (name.find('/') != std::string::npos) return {name};
    const char* path = find_variable(spec.environment, "PATH");
    std::vector<std::string> candidates;
    for (const std::string& directory : split(path != nullptr ? path : k_default_path, ':')) {
        candidates.push_back(directory.empty() ? name : directory + "/" + name);
    }
    return candidates;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> list;
    list.reserve(texts.size() + 1);
    for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
    list.push_back(nullptr);
    return list;
}

[[noreturn]] void fail(Step step, int error) {
    const StartReport report{step, error};
    // A lost report shows as an exec that ended at once; there is nobody else to tell.
    [[maybe_unused]] const ssize_t sent = ::write(k_status_fd, &report, sizeof report);
    ::_exit(127);
}

void take_descriptors(const Prepared& prepared) {
    // The standard descriptors come from above 2 (the agent has its own 0 to 2), so no dup2 overwrites a later source.
    for (int target = 0; target < 3; ++target) ::dup2(prepared.standard[static_cast<std::size_t>(target)], target);
    ::dup3(prepared.status, k_status_fd, O_CLOEXEC);
    ::syscall(SYS_close_range, k_status_fd + 1, ~0U, 0U);
}

// By the bare system call: libc keeps its hands on two signals, which posix_spawn(3) of some ancestor may have left ignored.
void reset_signals() {
    constexpr std::array<unsigned long, 4> k_default_action{};
    for (int number = 1; number < NSIG; ++number) ::syscall(SYS_rt_sigaction, number, k_default_action.data(), nullptr, 8);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The kernel shall take the command before the agent. While the agent's copy is not dumpable, its files in /proc belong to root;
// the agent's descriptors are closed by now and its secret is not inherited, so nothing is to be had from this process.
void volunteer_for_oom() {
    ::prctl(PR_SET_DUMPABLE, 1);
    const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    [[maybe_unused]] const ssize_t written = ::write(file, "500", 3);
    ::close(file);
}

[[noreturn]] void execute(const Prepared& prepared) {
    int error = ENOENT;
    for (const std::string& candidate : prepared.candidates) {
        ::execve(candidate.c_str(), prepared.arguments.data(), prepared.environment.data());
        // As execvp(3): absence goes on to the next directory, and a file that may not be executed is remembered.
        if (errno == EACCES) error = EACCES;
        else if (errno != ENOENT && errno != ENOTDIR) fail(Step::exec, errno);
        else if (prepared.candidates.size() == 1) error = errno;
    }
    fail(Step::exec, error);
}

[[noreturn]] void run_child(const Prepared& prepared) {
    ::setsid();
    take_descriptors(prepared);
    if (prepared.tty && ::ioctl(0, TIOCSCTTY, 0) != 0) fail(Step::tty, errno);
    reset_signals();
    volunteer_for_oom();
    if (::chdir(prepared.cwd) != 0) fail(Step::chdir, errno);
    execute(prepared);
}

// The child's ends of the streams, given up by the parent after the fork.
struct ChildEnds {
    Fd input;
    Fd output;
    Fd errors;
};

Fd open_input(const LeaderSpec& spec, Leader& leader) {
    if (spec.stdin_open) {
        Pipe pipe = make_pipe();
        ::fcntl(pipe.write.get(), F_SETPIPE_SZ, k_pipe_size);
        set_nonblocking(pipe.write.get(), true);
        leader.input = std::move(pipe.write);
        return std::move(pipe.read);
    }
    Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    // An image may come without /dev/null; a pipe nobody writes to is as empty.
    return null ? std::move(null) : std::move(make_pipe().read);
}

Fd open_output(Fd& read_end) {
    Pipe pipe = make_pipe();
    // Best effort: the kernel refuses once a user holds too many pipe pages.
    ::fcntl(pipe.write.get(), F_SETPIPE_SZ, k_pipe_size);
    set_nonblocking(pipe.read.get(), true);
    read_end = std::move(pipe.read);
    return std::move(pipe.write);
}

ChildEnds open_terminal(const LeaderSpec& spec, Leader& leader) {
    Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!master || ::unlockpt(master.get()) != 0) throw errno_error("cannot open a terminal");
    Fd slave(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!slave) throw errno_error("cannot open a terminal");
    const winsize size{spec.rows, spec.columns, 0, 0};
    ::ioctl(master.get(), TIOCSWINSZ, &size);
    set_nonblocking(master.get(), true);
    if (spec.stdin_open) leader.input.reset(::fcntl(master.get(), F_DUPFD_CLOEXEC, 3));
    leader.output = std::move(master);
    ChildEnds ends;
    ends.output.reset(::fcntl(slave.get(), F_DUPFD_CLOEXEC, 3));
    ends.errors.reset(::fcntl(slave.get(), F_DUPFD_CLOEXEC, 3));
    ends.input = std::move(slave);
    return ends;
}

ChildEnds open_streams(const LeaderSpec& spec, Leader& leader) {
    if (spec.tty) return open_terminal(spec, leader);
    return {open_input(spec, leader), open_output(leader.output), open_output(leader.errors)};
}

} // namespace

Leader start_leader(const LeaderSpec& spec) {
    Leader leader;
    Prepared prepared{exec_candidates(spec), pointers(spec.arguments), pointers(spec.environment), {}, spec.cwd.c_str(), spec.tty, -1};
    ChildEnds ends;
    Pipe status;
    try {
        ends = open_streams(spec, leader);
        status = make_pipe();
    } catch (const Error&) {
        throw StartFailure{"tty", errno != 0 ? errno : EIO};
    }
    set_nonblocking(status.read.get(), true);
    prepared.standard = {ends.input.get(), ends.output.get(), ends.errors.get()};
    prepared.status = status.write.get();
    leader.pid = ::fork();
    if (leader.pid == 0) run_child(prepared);
    if (leader.pid < 0) throw StartFailure{"fork", errno};
    leader.status = std::move(status.read);
    return leader;
}

std::optional<StartFailure> start_failure(const Leader& leader) {
    StartReport report{};
    if (::read(leader.status.get(), &report, sizeof report) != sizeof report) return std::nullopt;
    return StartFailure{k_step_names[static_cast<std::size_t>(report.step)], report.error};
}

std::vector<std::string> merge_environment(std::vector<std::string> base, const std::vector<std::string>& additions) {
    const auto name_of = [](const std::string& variable) { return variable.substr(0, variable.find('=')); };
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < base.size(); ++i) places.try_emplace(name_of(base[i]), i);
    for (const std::string& addition : additions) {
        const auto [same, is_new] = places.try_emplace(name_of(addition), base.size());
        if (is_new) base.push_back(addition);
        else base[same->second] = addition;
    }
    return base;
}

const char* find_variable(const std::vector<std::string>& environment, std::string_view name) {
    for (const std::string& variable : environment) {
        if (variable.size() > name.size() && variable[name.size()] == '=' && variable.starts_with(name)) {
            return variable.c_str() + name.size() + 1;
        }
    }
    return nullptr;
}

} // namespace sandbox::agent
