// SPDX-License-Identifier: Apache-2.0
// sandbox-agent: `init` is PID 1 of a session's container, `bridge` carries frames through an engine exec,
// `exec` runs a single command for a user that PID 1 is not and `sweep` ends what that left, `facts` prints what the kernel says of the container it runs in.
#include "agent/bridge.hpp"
#include "agent/exec_alone.hpp"
#include "agent/facts.hpp"
#include "agent/init.hpp"
#include "agent/version.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace sandbox::agent;

// Missing standard descriptors would be taken by the next file that is opened, and then be handed to every command.
void open_standard_descriptors() {
    while (true) {
        const int fd = ::open("/dev/null", O_RDWR);
        if (fd < 0) return;
        if (fd > 2) {
            ::close(fd);
            return;
        }
    }
}

// For the tests, which have no container: where the channel is, the bridge's name, and how long to wait for a set-up.
InitOptions parse_options(const std::vector<std::string_view>& arguments) {
    InitOptions options;
    for (std::size_t i = 2; i + 1 < arguments.size(); i += 2) {
        if (arguments[i] == "--channel") options.channel = arguments[i + 1];
        if (arguments[i] == "--bridge") options.bridge = arguments[i + 1];
        if (arguments[i] == "--handshake-ms") options.handshake_ms = std::atoll(arguments[i + 1].data());
        if (arguments[i] == "--thaw-ms") options.thaw_ms = std::atoll(arguments[i + 1].data());
    }
    return options;
}

int run(const std::vector<std::string_view>& arguments) {
    const std::string_view verb = arguments.size() > 1 ? arguments[1] : "";
    if (verb == "bridge") return run_bridge(parse_options(arguments).bridge);
    if (verb == "facts") return run_facts();
    if (verb == "exec") return run_exec_alone();
    if (verb == "sweep") return run_sweep();
    // At the end of a session everything else in the pid namespace is killed: never on a machine's own.
    if (verb == "init" && ::getpid() == 1) return Init(parse_options(arguments)).run();
    std::fprintf(stderr, "sandbox-agent %s: the first process of a sandbox session; not to be started by hand\n", k_agent_version.data());
    return 2;
}

} // namespace

int main(int argc, char** argv) {
    // First of all: until then a process of the same user could look into this one.
    ::prctl(PR_SET_DUMPABLE, 0);
    open_standard_descriptors();
    try {
        return run({argv, argv + argc});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sandbox-agent: %s\n", error.what());
        return 1;
    }
}
