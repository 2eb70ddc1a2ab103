// SPDX-License-Identifier: Apache-2.0
// A real agent as PID 1 of a pid namespace of its own, without a container: what the tests of the channel talk to. Needs root.
//
//   LiveAgent agent; const ExecResult result = agent.run({"true"});
#pragma once

#include "channel/agent_client.hpp"
#include "util/fs.hpp"

#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace sandbox::channel::test {

// What a command printed.
struct Captured {
    ExecResult result;
    std::string out;
    std::string err;
};

class LiveAgent {
  public:
    struct Options {
        SessionSetup setup;
        bool handshake = true;
        long handshake_ms = 30000;
        long thaw_ms = 10000;
        std::vector<std::string> prefix; // in front of the agent's command line
    };
    LiveAgent() : LiveAgent(Options{}) {}
    explicit LiveAgent(Options options);
    LiveAgent(const LiveAgent&) = delete;
    ~LiveAgent();

    const Link& link() const { return m_link; }
    const std::string& session_directory() const { return m_directory.path(); }
    std::string workdir() const { return m_directory.path() + "/workspace"; }
    std::string bridge_name() const;
    const Hello& hello() const { return m_hello; }
    // Closes the creator's connection.
    void let_go() { m_hello.creator.reset(); }
    void keep() {
        m_hello.creator->write("k");
        let_go();
    }
    // The agent's pid as the host sees it.
    pid_t pid() const { return m_pid; }
    // Waits for the agent's end; false when it still runs after `timeout`.
    bool ends_within(Milliseconds timeout);

    Captured run(const std::vector<std::string>& argv) const;
    Captured run(const ExecRequest& request, int stdin_fd = -1) const;
    // What a shell command prints, its trailing newline cut.
    std::string shell(const std::string& script) const;
    // How many processes with this command line part run in the session.
    int count_processes(const std::string& part) const;
    bool eventually_none(const std::string& part) const;

  private:
    TempDir m_directory;
    Link m_link;
    Hello m_hello;
    pid_t m_unshare = -1;
    pid_t m_pid = -1;
};

// True once `condition` holds, tried for `timeout`, which is long: a busy machine is no failure.
template <typename Condition> bool eventually(Condition condition, Milliseconds timeout = Milliseconds(20'000)) {
    for (const std::int64_t until = boot_now_ms() + timeout.count(); boot_now_ms() < until;) {
        if (condition()) return true;
        ::usleep(10'000);
    }
    return condition();
}

} // namespace sandbox::channel::test
