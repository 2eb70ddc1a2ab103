// SPDX-License-Identifier: Apache-2.0
#include "channel/ports.hpp"

#include "agent/ports_messages.hpp"
#include "channel/connection.hpp"
#include "util/poll_time.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <poll.h>

namespace sandbox::channel {
namespace {

std::string address_text(const std::string& bytes) {
    char text[INET6_ADDRSTRLEN] = "";
    ::inet_ntop(bytes.size() == sizeof(in_addr) ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
    return text;
}

// Docker's name server in a container with a network of its own: the engine's, and no port of the session.
bool is_engines_own(const Listener& listener) { return listener.address == "127.0.0.11" && listener.pid == 0; }

std::vector<Listener> listeners_of(const agent::ListeningMessage& message) {
    std::vector<Listener> listeners;
    for (const auto& entry : message.entries) listeners.push_back({address_text(entry.address), entry.port, entry.pid, entry.process});
    std::erase_if(listeners, is_engines_own);
    return listeners;
}

agent::ListeningMessage read_listening(agent::FramedStream& connection, std::int64_t until) {
    const agent::FrameView frame = read_before(connection, until);
    if (frame.type != agent::FrameType::reply) throw broken_protocol("no reply");
    try {
        return agent::decode_listening(frame.payload);
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    }
}

// False when nothing has come by then.
bool await(agent::FramedStream& connection, std::int64_t until) {
    for (;;) {
        if (connection.stream().buffered()) return true;
        pollfd readable{connection.fd(), POLLIN, 0};
        if (const int ready = ::poll(&readable, 1, poll_time_until(until)); ready > 0) return true;
        if (boot_now_ms() >= until) return false;
    }
}

} // namespace

std::vector<Listener> list_ports(const Link& link) {
    auto connection = open_live_connection(link, agent::Operation::list_ports, {});
    return listeners_of(read_listening(connection, boot_now_ms() + hello_patience(link).count()));
}

std::optional<std::vector<Listener>> wait_port(const Link& link, std::uint16_t port, std::int64_t until,
                                               const std::function<void(const std::vector<Listener>&)>& seen) {
    auto connection = open_live_connection(link, agent::Operation::wait_port, agent::encode_wait_port(port));
    // How things are is told at once: also whoever waits for no time at all hears that.
    std::int64_t patience = std::max(until, boot_now_ms() + hello_patience(link).count());
    for (;;) {
        const agent::ListeningMessage message = read_listening(connection, patience);
        if (message.state == agent::PortState::expired) throw Error(ErrorCode::session_gone, "the session expired while its port was waited for");
        auto listeners = listeners_of(message);
        if (message.state == agent::PortState::listening) return listeners;
        seen(listeners);
        if (!await(connection, until)) return std::nullopt;
        // A frame has begun to come.
        patience = boot_now_ms() + hello_patience(link).count();
    }
}

} // namespace sandbox::channel
