// SPDX-License-Identifier: Apache-2.0
#include "engine/podman.hpp"

#include "util/environment.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/process.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <cstring>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace sandbox::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Without a connection for so many seconds the service ends. Long enough that a script's next call finds it running.
constexpr std::string_view k_idle_seconds = "--time=10";

bool is_installed() {
    const std::string path = environment("PATH");
    for (std::string_view rest = path; !rest.empty();) {
        const auto colon = rest.find(':');
        const std::string_view folder = rest.substr(0, colon);
        if (folder.starts_with('/') && ::access((std::string(folder) + "/podman").c_str(), X_OK) == 0) return true;
        rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
    }
    return false;
}

bool takes_connections(const std::string& socket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
    const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

} // namespace

bool is_podman(std::string_view engine_id) { return engine_id.starts_with("podman:"); }

std::optional<std::string> podman_socket() {
    if (!environment("SANDBOX_NO_PODMAN").empty()) return std::nullopt;
    const std::string runtime = ::geteuid() == 0 ? "/run" : environment("XDG_RUNTIME_DIR");
    if (!runtime.starts_with('/') || !is_installed()) return std::nullopt;
    return runtime + "/podman/podman.sock";
}

void start_podman(const std::string& socket, std::chrono::milliseconds timeout) {
    const std::string directory = socket.substr(0, socket.rfind('/'));
    make_directories(directory, 0700);
    // A second service would take the socket away from the first.
    const FileLock lock = FileLock::acquire(directory + "/sandbox.lock");
    const auto until = Clock::now() + timeout;
    if (takes_connections(socket)) return;
    // In a directory of its own, for its containers' monitors leave a file "oom" where it was started.
    // setsid(1) starts it in a session of its own and returns: no terminal's hang-up and no Ctrl-C reaches it.
    Child starter({.argv = {"setsid", "podman", "system", "service", std::string(k_idle_seconds), "unix://" + socket},
                   .cwd = directory,
                   .in = Stdio::null(),
                   .out = Stdio::null(),
                   .err = Stdio::null()});
    starter.wait();
    while (!takes_connections(socket)) {
        if (Clock::now() > until) {
            throw Error(ErrorCode::engine_unreachable, "podman's service does not come up at unix://" + printable(socket) + " within " +
                                                           format_duration(timeout))
                .hint("podman system service --time=0 unix://" + printable(socket) +
                      " tells why; SANDBOX_NO_PODMAN=1 keeps sandbox from starting it");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

} // namespace sandbox::engine
