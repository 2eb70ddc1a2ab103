// SPDX-License-Identifier: Apache-2.0
// Host processes without a shell: started, fed, waited for with a deadline, and never left behind.
//
//   Child child({.argv = {"git", "clone", url}, .in = Stdio::null()});
//   const ExitStatus status = child.wait();
//
//   const Captured hashes = run_capture({"sha256sum"}, text, {.timeout = std::chrono::seconds(5)});
#pragma once

#include "util/fd.hpp"
#include "util/time.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/types.h>
#include <vector>

namespace sandbox {

// How a process ended: by exit(code), or by a signal.
struct ExitStatus {
    int code = 0;
    int signal = 0; // 0: it exited

    bool success() const { return signal == 0 && code == 0; }
    // As a shell tells it: 128 + signal.
    int shell_status() const { return signal != 0 ? 128 + signal : code; }
};

// What one of a child's standard streams is.
struct Stdio {
    enum class Kind { inherit, null, pipe, descriptor };
    Kind kind = Kind::inherit;
    int fd = -1;

    static Stdio inherit() { return {}; }
    static Stdio null() { return {Kind::null, -1}; }
    static Stdio pipe() { return {Kind::pipe, -1}; }
    // A descriptor of the caller's, who keeps it.
    static Stdio descriptor(int fd) { return {Kind::descriptor, fd}; }
};

// Own: signals reach the child and what it started, and nobody else. Shared: it stays in the terminal's foreground.
// Session: as own, and it has no terminal, so that opening /dev/tty fails instead of stopping it.
enum class ProcessGroup { own, shared, session };

struct SpawnOptions {
    std::vector<std::string> argv; // argv[0] is looked up in PATH unless it has a slash
    std::optional<std::vector<std::string>> env = std::nullopt; // "NAME=value"; absent: the caller's
    std::string cwd = {};                                       // empty: the caller's
    Stdio in = {};
    Stdio out = {};
    Stdio err = {};
    ProcessGroup group = ProcessGroup::own;
    int parent_death_signal = 0; // what the child gets when the thread that starts it ends; 0: nothing
    int announce_fd = -1; // where the child writes its pid (a pid_t) before it becomes the program; -1: nowhere
};

class Child {
  public:
    // Returns when the program runs. Throws command_not_found or not_executable (with the reason) for the program, and
    // an errno error for the working directory and everything else.
    explicit Child(const SpawnOptions& options);
    Child(Child&& other) noexcept;
    Child& operator=(Child&&) = delete;
    // Kills what still runs (with its group, when that is its own) and waits for it.
    ~Child();

    pid_t pid() const { return m_pid; }
    // Becomes readable when the process has ended, for poll(2).
    int pidfd() const { return m_pidfd.get(); }
    // The caller's ends of the pipes that were asked for.
    Fd& in() { return m_in; }
    Fd& out() { return m_out; }
    Fd& err() { return m_err; }

    // Sends to the group, when that is its own. Does nothing once the end was seen by wait().
    void kill(int signal);
    // `usage`, where given, gets what it has used, with what it has started and waited for.
    ExitStatus wait(rusage* usage = nullptr);
    // Absent when it still runs after `timeout`.
    std::optional<ExitStatus> wait_for(Milliseconds timeout);

  private:
    pid_t m_pid = -1;
    ProcessGroup m_group = ProcessGroup::own;
    Fd m_pidfd;
    Fd m_in;
    Fd m_out;
    Fd m_err;
    std::optional<ExitStatus> m_status;
};

struct CaptureLimits {
    Milliseconds timeout{0};          // 0: none
    std::size_t max_output = 1 << 20; // bytes kept of each stream; the rest is read and dropped
};

struct Captured {
    ExitStatus status;
    std::string out;
    std::string err;
    bool timed_out = false; // and killed, with all of its group
    bool truncated = false; // one of the streams was longer than max_output
};

// Runs a command to its end with `stdin_text` as its input. A command that does not read its input, or leaves a child
// that holds its output, is no error and no delay; what is left of its group then is killed. Throws what Child throws.
Captured run_capture(const std::vector<std::string>& argv, std::string_view stdin_text, const CaptureLimits& limits = {});

} // namespace sandbox
