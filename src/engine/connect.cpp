// SPDX-License-Identifier: Apache-2.0
#include "engine/connect.hpp"

#include "engine/podman.hpp"
#include "util/environment.hpp"
#include "util/error.hpp"
#include "util/time.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sandbox::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Podman looks through its whole storage before it listens.
constexpr std::chrono::milliseconds k_podman_start{15000};

Error unreachable(const Endpoint& endpoint, std::string_view why, std::string hint) {
    return Error(ErrorCode::engine_unreachable, "the engine at " + endpoint.address() + ": " + std::string(why))
        .hint(std::move(hint));
}

// A rootless engine of this user listens somewhere else, and docker finds it by its context only.
std::string rootless_hint() {
    const std::string runtime = environment("XDG_RUNTIME_DIR");
    if (runtime.empty()) return {};
    const std::string path = runtime + "/docker.sock";
    return ::access(path.c_str(), F_OK) == 0 ? "; a rootless engine seems to be at unix://" + path : "";
}

Error explain(const Endpoint& endpoint, int error_number, std::chrono::milliseconds timeout) {
    switch (error_number) {
    case ENOENT:
    case ENOTDIR:
        return unreachable(endpoint, "the socket does not exist",
                           "start the engine (systemctl start docker), or name another with --engine or DOCKER_HOST" +
                               rootless_hint());
    case EACCES:
    case EPERM:
        return unreachable(endpoint, "permission denied",
                           "join the docker group (usermod -aG docker USER, then log in again) or use sudo");
    case ECONNREFUSED:
        return unreachable(endpoint,
                           endpoint.kind == Endpoint::Kind::unix_socket ? "nothing listens there, though the socket file exists"
                                                                        : "nothing listens there",
                           "the engine has stopped or crashed: start it again (systemctl restart docker)");
    case ETIMEDOUT:
    case EAGAIN:
        return unreachable(endpoint, "no connection within " + format_duration(timeout),
                           "the engine may be overloaded or stuck: try again, or restart it");
    default: return unreachable(endpoint, std::strerror(error_number), "check the address");
    }
}

// Connects a non-blocking socket; the errno of the failure, 0 for success.
int connect_within(int fd, const sockaddr* address, socklen_t length, Clock::time_point until) {
    for (;;) {
        if (::connect(fd, address, length) == 0 || errno == EISCONN) return 0;
        const int failure = errno;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        if (failure != EINTR && failure != EINPROGRESS && failure != EALREADY && failure != EAGAIN) return failure;
        if (left <= 0) return ETIMEDOUT;
        if (failure == EAGAIN) {
            // A unix listener with a full backlog: the kernel offers nothing to wait for.
            ::usleep(5000);
            continue;
        }
        pollfd entry{fd, POLLOUT, 0};
        if (::poll(&entry, 1, static_cast<int>(left)) <= 0) continue;
        int error_number = 0;
        socklen_t size = sizeof error_number;
        if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error_number, &size) != 0) return errno;
        return error_number;
    }
}

// A unix address holds 107 bytes. A longer path is reached through a descriptor of its directory.
struct UnixAddress {
    Fd directory;
    sockaddr_un address{};
};

UnixAddress unix_address(const Endpoint& endpoint) {
    UnixAddress result;
    result.address.sun_family = AF_UNIX;
    std::string path = endpoint.path;
    if (path.size() >= sizeof result.address.sun_path) {
        const auto slash = path.rfind('/');
        result.directory.reset(::open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!result.directory) throw explain(endpoint, errno, {});
        path = "/proc/self/fd/" + std::to_string(result.directory.get()) + path.substr(slash);
    }
    if (path.size() >= sizeof result.address.sun_path) throw explain(endpoint, ENAMETOOLONG, {});
    std::memcpy(result.address.sun_path, path.c_str(), path.size() + 1);
    return result;
}

// The errno of the failure, 0 for success.
int try_unix(Fd& fd, const UnixAddress& target, std::chrono::milliseconds timeout) {
    fd.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) throw errno_error("cannot make a socket");
    return connect_within(fd.get(), reinterpret_cast<const sockaddr*>(&target.address), sizeof target.address,
                          Clock::now() + timeout);
}

Fd connect_unix(const Endpoint& endpoint, std::chrono::milliseconds timeout) {
    const UnixAddress target = unix_address(endpoint);
    Fd fd;
    int failure = try_unix(fd, target, timeout);
    if ((failure == ENOENT || failure == ECONNREFUSED) && podman_socket() == endpoint.path) {
        start_podman(endpoint.path, k_podman_start);
        failure = try_unix(fd, target, timeout);
    }
    if (failure != 0) throw explain(endpoint, failure, timeout);
    return fd;
}

struct Addresses {
    addrinfo* list = nullptr;
    ~Addresses() {
        if (list != nullptr) ::freeaddrinfo(list);
    }
};

Fd connect_tcp(const Endpoint& endpoint, std::chrono::milliseconds timeout) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    Addresses found;
    const int status = ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &wanted, &found.list);
    if (status != 0) throw unreachable(endpoint, ::gai_strerror(status), "check the host's name");
    int failure = EADDRNOTAVAIL;
    const auto until = Clock::now() + timeout;
    for (const addrinfo* one = found.list; one != nullptr; one = one->ai_next) {
        Fd fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!fd) continue;
        failure = connect_within(fd.get(), one->ai_addr, one->ai_addrlen, until);
        if (failure != 0) continue;
        const int on = 1;
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return fd;
    }
    throw explain(endpoint, failure, timeout);
}

} // namespace

Fd connect_to(const Endpoint& endpoint, std::chrono::milliseconds timeout) {
    return endpoint.kind == Endpoint::Kind::unix_socket ? connect_unix(endpoint, timeout) : connect_tcp(endpoint, timeout);
}

} // namespace sandbox::engine
