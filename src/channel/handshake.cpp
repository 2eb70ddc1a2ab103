// SPDX-License-Identifier: Apache-2.0
#include "channel/handshake.hpp"

#include "channel/connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox::channel {
namespace {

// The agent may run under another kernel, or in another time namespace, whose boot clock is not ours: it is told how
// long, not until when. 0 stays "no end".
std::int64_t time_left_ms(std::int64_t boot_ms) {
    return boot_ms == 0 ? 0 : std::max<std::int64_t>(1, boot_ms - boot_now_ms());
}

constexpr std::string_view k_hello_name = "hello.sock";
constexpr Milliseconds k_handshake_patience{30'000};

Hello public_hello(const agent::HelloMessage& message) {
    return {message.agent_version, message.uid, message.gid, message.workspace_writable, message.home_writable, message.home, nullptr};
}

Fd listen_in(const std::string& path, std::string_view name, mode_t mode) {
    const Fd directory = open_directory(path);
    const std::string file(name);
    ::unlinkat(directory.get(), file.c_str(), 0);
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!directory || !socket || bind_in(socket.get(), directory.get(), name) != 0 ||
        ::fchmodat(directory.get(), file.c_str(), mode, 0) != 0 || ::listen(socket.get(), SOMAXCONN) != 0) {
        throw errno_error("cannot listen at " + path + "/" + file);
    }
    return socket;
}

// The whole stream behind the descriptor: SCM_RIGHTS rides on the first byte.
void send_with_descriptor(int socket, std::string_view bytes, int fd) {
    iovec part{const_cast<char*>(bytes.data()), 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) != 1) throw errno_error("cannot hand over the session's socket");
}

// Tells the agent all and waits for its second hello, which says that it serves.
Hello set_up(agent::FramedStream& connection, std::string_view frames, const SessionSetup& setup, std::int64_t until) {
    connection.write(frames);
    Hello hello = public_hello(read_hello(connection, until));
    if (setup.ends_with_creator) hello.creator = connection.release();
    return hello;
}

bool wait_readable(int fd, std::int64_t until) {
    for (;;) {
        const std::int64_t left = until - boot_now_ms();
        if (left <= 0) return false;
        pollfd readable{fd, POLLIN, 0};
        if (::poll(&readable, 1, static_cast<int>(left)) > 0) return true;
    }
}

} // namespace

std::vector<std::string> environment_items(const Environment& environment) {
    std::vector<std::string> items;
    items.reserve(environment.size());
    for (const auto& [name, value] : environment) items.push_back(name + "=" + value);
    return items;
}

std::string encode_setup_frames(const SessionSetup& setup, std::uint32_t version) {
    const std::vector<std::string> items = environment_items(setup.env);
    std::string frames = agent::encode(agent::SetupMessage{setup.workdir, time_left_ms(setup.ttl_boot_ms), setup.idle_timeout_ms, setup.grace_ms,
                                                           setup.secret, setup.ends_with_creator, static_cast<std::uint32_t>(items.size())},
                                        version);
    agent::append_items(frames, items);
    return frames;
}

HelloListener::HelloListener(const std::string& session_directory)
    : m_directory(session_directory), m_mount(session_directory + "/channel") {
    // Open to every uid that the session may run as; who gets this far is kept by the 0700 directory above.
    if (::mkdir(m_mount.c_str(), 0755) != 0 && errno != EEXIST) throw errno_error("cannot make " + m_mount);
    if (::chmod(m_mount.c_str(), 0755) != 0) throw errno_error("cannot open up " + m_mount);
    m_hello = listen_in(m_mount, k_hello_name, 0666);
    m_listener = listen_in(m_directory, k_agent_socket, 0600);
    set_nonblocking(m_hello.get(), true);
}

HelloListener::~HelloListener() { ::unlink((m_mount + "/" + std::string(k_hello_name)).c_str()); }

const std::string& HelloListener::mount_directory() const { return m_mount; }

std::optional<Hello> HelloListener::accept(const SessionSetup& setup, Milliseconds timeout) {
    const std::int64_t until = boot_now_ms() + timeout.count();
    while (wait_readable(m_hello.get(), until)) {
        Fd socket(::accept4(m_hello.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!socket) continue;
        const int fd = socket.get();
        agent::FramedStream connection(std::make_unique<SocketStream>(std::move(socket)));
        // One that came this far is on its way, however busy the machine is.
        const std::int64_t patience_ends = boot_now_ms() + k_handshake_patience.count();
        const std::string frames = encode_setup_frames(setup, read_hello(connection, patience_ends).version);
        send_with_descriptor(fd, frames, m_listener.get());
        Hello hello = set_up(connection, std::string_view(frames).substr(1), setup, patience_ends);
        // From now on the agent alone holds it: when the agent is gone, connecting is refused.
        m_listener.reset();
        return hello;
    }
    return std::nullopt;
}

Hello bridge_handshake(std::unique_ptr<Stream> stream, const SessionSetup& setup) {
    const std::int64_t until = boot_now_ms() + k_handshake_patience.count();
    agent::FramedStream connection(std::move(stream));
    const std::uint32_t version = read_hello(connection, until).version;
    return set_up(connection, encode_setup_frames(setup, version), setup, until);
}

} // namespace sandbox::channel
