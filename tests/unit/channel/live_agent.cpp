// SPDX-License-Identifier: Apache-2.0
#include "live_agent.hpp"

#include "util/error.hpp"
#include "util/random.hpp"

#include <csignal>
#include <cstdlib>
#include <spawn.h>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/wait.h>

namespace sandbox::channel::test {
namespace {

pid_t spawn(std::vector<std::string> arguments) {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_t pid = -1;
    if (::posix_spawnp(&pid, pointers[0], nullptr, nullptr, pointers.data(), environ) != 0) throw std::runtime_error("cannot spawn");
    return pid;
}

pid_t first_child(pid_t parent) {
    const std::string path = "/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children";
    return static_cast<pid_t>(std::atoi(read_file(path).value_or("0").c_str()));
}

} // namespace

LiveAgent::LiveAgent(Options options) {
    make_directories(workdir(), 0755);
    if (options.setup.workdir.empty()) options.setup.workdir = workdir();
    if (options.setup.secret.empty()) options.setup.secret = random_bytes(32);
    HelloListener listener(m_directory.path());
    std::vector<std::string> command{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child=KILL"};
    command.insert(command.end(), options.prefix.begin(), options.prefix.end());
    for (const std::string& part : {std::string(SANDBOX_AGENT), std::string("init"), std::string("--channel"),
                                    options.handshake ? listener.mount_directory() : std::string("/nonexistent"), std::string("--bridge"),
                                    bridge_name(), std::string("--handshake-ms"), std::to_string(options.handshake_ms), std::string("--thaw-ms"),
                                    std::to_string(options.thaw_ms)}) {
        command.push_back(part);
    }
    m_unshare = spawn(std::move(command));
    m_link = socket_link(m_directory.path());
    if (options.handshake) {
        auto hello = listener.accept(options.setup, Milliseconds(30'000));
        if (!hello) throw std::runtime_error("no agent came");
        m_hello = *hello;
    }
    eventually([this] { return (m_pid = first_child(m_unshare)) > 0; });
}

LiveAgent::~LiveAgent() {
    if (m_unshare <= 0) return;
    if (m_pid > 0) ::kill(m_pid, SIGKILL);
    ::kill(m_unshare, SIGKILL);
    ::waitpid(m_unshare, nullptr, 0);
}

std::string LiveAgent::bridge_name() const { return "sandbox-test" + m_directory.path().substr(m_directory.path().rfind('-')); }

bool LiveAgent::ends_within(Milliseconds timeout) {
    return eventually([this] {
        if (::waitpid(m_unshare, nullptr, WNOHANG) != m_unshare) return false;
        m_unshare = m_pid = -1;
        return true;
    }, timeout);
}

Captured LiveAgent::run(const std::vector<std::string>& argv) const {
    ExecRequest request;
    request.argv = argv;
    return run(request);
}

Captured LiveAgent::run(const ExecRequest& request, int stdin_fd) const {
    Captured captured;
    ExecIo io;
    io.stdin_fd = stdin_fd;
    io.on_output = [&captured](OutputStream stream, std::string_view bytes) {
        (stream == OutputStream::out ? captured.out : captured.err) += bytes;
    };
    captured.result = exec(m_link, request, io);
    return captured;
}

std::string LiveAgent::shell(const std::string& script) const {
    std::string out = run({"sh", "-c", script}).out;
    while (out.ends_with('\n')) out.pop_back();
    return out;
}

int LiveAgent::count_processes(const std::string& part) const {
    // The pattern in brackets does not match the shell's own command line.
    const std::string pattern = "[" + part.substr(0, 1) + "]" + part.substr(1);
    return std::atoi(shell("for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done 2>/dev/null | grep -c '" + pattern + "'").c_str());
}

bool LiveAgent::eventually_none(const std::string& part) const {
    return eventually([&] { return count_processes(part) == 0; });
}

} // namespace sandbox::channel::test
