// SPDX-License-Identifier: Apache-2.0
#include "agent/init.hpp"
#include "agent/leader.hpp"
#include "agent/version.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

constexpr int k_connect_attempts = 50;
constexpr long k_attempt_pause_ns = 10'000'000;

bool is_writable(const std::string& directory) { return !directory.empty() && ::access(directory.c_str(), W_OK | X_OK) == 0; }

std::vector<std::string> own_environment() {
    std::vector<std::string> list;
    for (char** variable = environ; *variable != nullptr; ++variable) list.emplace_back(*variable);
    return list;
}

// Absent without the creator's socket: the hand-shake comes over a bridge then.
Fd connect_creator(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return {};
    std::copy(path.begin(), path.end(), address.sun_path);
    for (int attempt = 0; attempt < k_connect_attempts; ++attempt) {
        Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
        if (errno != ECONNREFUSED && errno != EAGAIN) return {};
        const timespec pause{0, k_attempt_pause_ns};
        ::nanosleep(&pause, nullptr);
    }
    return {};
}

bool is_listening(int fd) {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value == 1;
}

} // namespace

void Init::connect_hello() {
    Fd socket = connect_creator(m_options.channel + "/hello.sock");
    if (!socket) return;
    Pending pending(std::move(socket), Origin::hello, k_max_frame, m_handshake_until);
    if (pending.send(encode(hello(pending.nonce)))) m_pending.push_back(std::move(pending));
}

HelloMessage Init::hello(const std::string& nonce) const {
    HelloMessage message;
    message.nonce = nonce;
    message.agent_version = k_agent_version;
    message.uid = m_context.session.uid;
    message.gid = m_context.session.gid;
    message.workspace_writable = m_is_set_up && is_writable(m_context.session.workdir);
    message.home_writable = m_home_writable;
    message.home = m_home;
    return message;
}

// Taken once, from the creator's socket or from the first bridge: nothing else runs in the container by then.
bool Init::take_setup(Pending& pending, const FrameView& frame) {
    if (m_is_set_up || m_secret.is_set() || pending.origin == Origin::outside) return false;
    SetupMessage message = decode_setup(frame.payload);
    const bool is_set = !message.secret.empty() && m_secret.set(message.secret);
    ::explicit_bzero(message.secret.data(), message.secret.size());
    pending.decoder.wipe_taken();
    if (!is_set || !message.workdir.starts_with('/')) return false;
    pending.items.emplace(message.environment_count);
    pending.setup = std::move(message);
    return true;
}

bool Init::take_setup_item(Pending& pending, const FrameView& frame) {
    return pending.items->take(frame) ? finish_setup(pending) : true;
}

bool Init::finish_setup(Pending& pending) {
    if (pending.origin == Origin::hello) {
        if (!pending.received || !is_listening(pending.received.get())) return false;
        set_nonblocking(pending.received.get(), true);
        m_listener = std::move(pending.received);
    }
    const SetupMessage& message = *pending.setup;
    m_context.session.workdir = message.workdir;
    m_context.grace_ms = message.grace_ms;
    m_context.environment = merge_environment(own_environment(), pending.items->items());
    choose_home(pending.items->items());
    m_deadlines.set_ttl(message.ttl_left_ms == 0 ? 0 : boot_now_ms() + message.ttl_left_ms);
    m_deadlines.set_idle_timeout(message.idle_timeout_ms);
    m_deadlines.touch(boot_now_ms());
    m_is_set_up = true;
    pending.send(encode(hello(pending.nonce)));
    if (message.ends_with_creator) {
        m_creator = std::move(pending.socket);
        m_creator_bridge = pending.peer;
        m_deadlines.begin_operation(); // somebody is there as long as it is open
    }
    return false;
}

// The creator says nothing more on this connection but, perhaps, that the session may outlive it: any byte means that.
void Init::read_creator() {
    char byte = 0;
    const ssize_t count = ::recv(m_creator.get(), &byte, 1, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    m_creator.reset();
    m_creator_bridge = {};
    if (count > 0) m_deadlines.end_operation(boot_now_ms());
    else m_is_ending = true;
}

// The engine takes HOME from the image's /etc/passwd; on a read-only root, or for a user without a line there, nothing can be
// written to it. A HOME that the session asked for stays.
void Init::choose_home(const std::vector<std::string>& session_environment) {
    const char* home = find_variable(m_context.environment, "HOME");
    m_home = home != nullptr ? home : "";
    m_home_writable = is_writable(m_home);
    if (m_home_writable || find_variable(session_environment, "HOME") != nullptr) return;
    for (const std::string& candidate : {std::string("/tmp"), m_context.session.workdir}) {
        if (!is_writable(candidate)) continue;
        m_home = candidate;
        m_context.environment = merge_environment(std::move(m_context.environment), {"HOME=" + candidate});
        return;
    }
}

} // namespace sandbox::agent
