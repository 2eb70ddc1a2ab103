// SPDX-License-Identifier: Apache-2.0
#include "util/process.hpp"

#include "util/error.hpp"
#include "util/poll_time.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace sandbox {
namespace {

constexpr const char* k_default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Where it failed between fork and exec, told through a pipe that a successful exec closes.
struct ExecFailure {
    enum class Step { streams, directory, program };
    Step step;
    int error;
};

// All that the child needs, made before the fork: after it, in a program with threads, not even malloc is safe.
struct Image {
    std::string program;
    std::vector<char*> argv;
    char* const* env;
    const char* cwd;
    std::array<int, 3> streams; // -1: inherit
    ProcessGroup group;
    int parent_death_signal;
    int announce;
    pid_t parent;
    int report;
};

bool is_executable_file(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// Not execvp(3): it hands a file that is no program to /bin/sh.
std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) return name;
    const char* variable = std::getenv("PATH");
    const std::string_view path = variable != nullptr ? variable : k_default_path;
    bool was_denied = false;
    for (std::size_t start = 0; start <= path.size() && !name.empty();) {
        const std::size_t end = std::min(path.find(':', start), path.size());
        std::string candidate(path.substr(start, end - start));
        candidate += (candidate.empty() ? "./" : "/") + name;
        if (is_executable_file(candidate)) return candidate;
        was_denied = was_denied || ::access(candidate.c_str(), F_OK) == 0;
        start = end + 1;
    }
    if (was_denied) throw Error(ErrorCode::not_executable, "cannot run " + name + ": " + std::strerror(EACCES));
    throw Error(ErrorCode::command_not_found, "cannot run " + name + ": not found in PATH");
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    // execve(2) takes char* for historical reasons and writes to none of them.
    for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
}

[[noreturn]] void give_up(const Image& image, ExecFailure::Step step) {
    const ExecFailure failure{step, errno};
    [[maybe_unused]] const ssize_t written = ::write(image.report, &failure, sizeof failure);
    ::_exit(127);
}

// Ignored signals and the signal mask survive exec. SIGPIPE is the one we may ignore ourselves; SIGHUP stays as nohup(1)
// may have set it. Our handlers must be gone before the mask is lifted, or they run in the child.
void restore_signals() {
    struct sigaction defaults{};
    defaults.sa_handler = SIG_DFL;
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction current{};
        if (::sigaction(signal, nullptr, &current) != 0) continue;
        if (current.sa_handler != SIG_IGN || signal == SIGPIPE) ::sigaction(signal, &defaults, nullptr);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool install_streams(const std::array<int, 3>& streams) {
    std::array<int, 3> safe = streams;
    // A source among 0 to 2 would be overwritten by an earlier dup2: move all sources above first.
    for (int& fd : safe) {
        if (fd < 0) continue;
        fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (fd < 0) return false;
    }
    for (int target = 0; target < 3; ++target) {
        const int fd = safe[static_cast<std::size_t>(target)];
        if (fd >= 0 && ::dup2(fd, target) < 0) return false;
    }
    return true;
}

[[noreturn]] void run_child(const Image& image) {
    if (image.group == ProcessGroup::own) ::setpgid(0, 0);
    if (image.group == ProcessGroup::session) ::setsid();
    restore_signals();
    if (image.parent_death_signal != 0) {
        ::prctl(PR_SET_PDEATHSIG, image.parent_death_signal);
        if (::getppid() != image.parent) ::raise(image.parent_death_signal); // it was faster
    }
    if (image.announce >= 0) {
        const pid_t self = ::getpid();
        if (::write(image.announce, &self, sizeof self) != sizeof self) give_up(image, ExecFailure::Step::streams);
    }
    if (!install_streams(image.streams)) give_up(image, ExecFailure::Step::streams);
    if (image.cwd != nullptr && ::chdir(image.cwd) != 0) give_up(image, ExecFailure::Step::directory);
    ::execve(image.program.c_str(), image.argv.data(), image.env);
    give_up(image, ExecFailure::Step::program);
}

Error explain(const ExecFailure& failure, const SpawnOptions& options) {
    const std::string& name = options.argv.front();
    switch (failure.step) {
    case ExecFailure::Step::streams: return errno_error("cannot redirect the streams of " + name, failure.error);
    case ExecFailure::Step::directory: return errno_error("cannot run " + name + " in " + options.cwd, failure.error);
    case ExecFailure::Step::program: break;
    }
    const std::string message = "cannot run " + name + ": " + std::strerror(failure.error);
    switch (failure.error) {
    case ENOENT:
    case ENOTDIR: return Error(ErrorCode::command_not_found, message);
    case EACCES:
    case EISDIR:
    case ENOEXEC: return Error(ErrorCode::not_executable, message);
    default: return errno_error("cannot run " + name, failure.error);
    }
}

// The child's descriptor for one stream. `mine` gets our end of a pipe, `theirs` what to close after the fork.
int stream_for(const Stdio& choice, bool is_input, Fd& mine, Fd& theirs) {
    switch (choice.kind) {
    case Stdio::Kind::inherit: return -1;
    case Stdio::Kind::descriptor: return choice.fd;
    case Stdio::Kind::null:
        theirs.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
        if (!theirs) throw errno_error("cannot open /dev/null");
        return theirs.get();
    case Stdio::Kind::pipe: break;
    }
    Pipe pipe = make_pipe();
    mine = std::move(is_input ? pipe.write : pipe.read);
    theirs = std::move(is_input ? pipe.read : pipe.write);
    return theirs.get();
}

// Blocks all signals from before the fork until the child has its own dispositions: a handler of ours must not run there.
class BlockedSignals {
  public:
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &m_before);
    }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;
    ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr); }

  private:
    sigset_t m_before{};
};

pid_t fork_child(const Image& image) {
    const BlockedSignals blocked;
    const pid_t pid = ::fork();
    if (pid < 0) throw errno_error("cannot start a process");
    if (pid == 0) run_child(image);
    // On both sides, so that neither can signal the group before it is there.
    if (image.group == ProcessGroup::own) ::setpgid(pid, pid);
    return pid;
}

ExitStatus reap(pid_t pid, rusage* usage = nullptr) {
    int raw = 0;
    while (::wait4(pid, &raw, 0, usage) < 0) {
        if (errno != EINTR) throw errno_error("cannot wait for process " + std::to_string(pid));
    }
    if (WIFSIGNALED(raw)) return {0, WTERMSIG(raw)};
    return {WEXITSTATUS(raw), 0};
}

} // namespace

Child::Child(const SpawnOptions& options) : m_group(options.group) {
    if (options.argv.empty()) throw Error(ErrorCode::internal, "a process without a program");
    Fd theirs_in;
    Fd theirs_out;
    Fd theirs_err;
    Pipe report = make_pipe();
    const std::vector<char*> env = options.env ? pointers(*options.env) : std::vector<char*>();
    const Image image{
        .program = find_program(options.argv.front()),
        .argv = pointers(options.argv),
        .env = options.env ? env.data() : ::environ,
        .cwd = options.cwd.empty() ? nullptr : options.cwd.c_str(),
        .streams = {stream_for(options.in, true, m_in, theirs_in), stream_for(options.out, false, m_out, theirs_out),
                    stream_for(options.err, false, m_err, theirs_err)},
        .group = options.group,
        .parent_death_signal = options.parent_death_signal,
        .announce = options.announce_fd,
        .parent = ::getpid(),
        .report = report.write.get(),
    };
    m_pid = fork_child(image);
    report.write.reset();

    ExecFailure failure{};
    char* bytes = static_cast<char*>(static_cast<void*>(&failure));
    if (read_some(report.read.get(), {bytes, sizeof failure}) == sizeof failure) {
        reap(std::exchange(m_pid, -1));
        throw explain(failure, options);
    }
    m_pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, m_pid, 0)));
    if (m_pidfd) return;
    const Error error = errno_error("cannot watch process " + std::to_string(m_pid));
    kill(SIGKILL);
    reap(m_pid);
    throw Error(error);
}

Child::Child(Child&& other) noexcept
    : m_pid(std::exchange(other.m_pid, -1)), m_group(other.m_group), m_pidfd(std::move(other.m_pidfd)), m_in(std::move(other.m_in)),
      m_out(std::move(other.m_out)), m_err(std::move(other.m_err)), m_status(other.m_status) {}

Child::~Child() {
    if (m_pid < 0 || m_status) return;
    kill(SIGKILL);
    int raw = 0;
    while (::waitpid(m_pid, &raw, 0) < 0 && errno == EINTR) {}
}

void Child::kill(int signal) {
    // Once it is reaped, its number may be somebody else's.
    if (m_pid < 0 || m_status) return;
    ::kill(m_group == ProcessGroup::shared ? m_pid : -m_pid, signal);
}

ExitStatus Child::wait(rusage* usage) {
    if (!m_status) m_status = reap(m_pid, usage);
    return *m_status;
}

std::optional<ExitStatus> Child::wait_for(Milliseconds timeout) {
    const std::int64_t deadline = boot_now_ms() + timeout.count();
    while (!m_status) {
        const int left = poll_time_until(deadline);
        pollfd ended{m_pidfd.get(), POLLIN, 0};
        const int ready = ::poll(&ended, 1, left);
        if (ready < 0 && errno != EINTR) throw errno_error("cannot wait for process " + std::to_string(m_pid));
        if (ready > 0) m_status = reap(m_pid);
        if (ready == 0 && left == 0) return std::nullopt;
    }
    return m_status;
}

} // namespace sandbox
