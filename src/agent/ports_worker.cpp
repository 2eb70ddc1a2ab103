// SPDX-License-Identifier: Apache-2.0
#include "agent/ports_worker.hpp"

#include "agent/exec_worker.hpp"
#include "agent/listening.hpp"
#include "agent/ports_messages.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

// The kernel tells nobody that a socket has begun to listen. What takes seconds to come may be noticed a little later.
constexpr int k_look_again_ms = 20;
constexpr int k_look_seldom_ms = 100;
constexpr int k_first_looks = 100;

ListeningMessage told(PortState state, std::vector<ListeningSocket> sockets) {
    name_owners(sockets);
    ListeningMessage message{state, {}};
    for (ListeningSocket& socket : sockets) {
        message.entries.push_back({std::move(socket.address), socket.port, static_cast<std::uint32_t>(socket.pid), std::move(socket.process)});
    }
    return message;
}

std::vector<unsigned long> inodes_of(const std::vector<ListeningSocket>& sockets) {
    std::vector<unsigned long> inodes;
    for (const ListeningSocket& socket : sockets) inodes.push_back(socket.inode);
    return inodes;
}

enum class Next { look_again, expired, over };

Next rest(int connection, int control, int milliseconds) {
    std::array<pollfd, 2> set{pollfd{connection, POLLIN, 0}, pollfd{control, POLLIN, 0}};
    if (::poll(set.data(), set.size(), milliseconds) < 0) return errno == EINTR ? Next::look_again : Next::over;
    char word = 0;
    if (set[1].revents != 0) return ::read(control, &word, 1) == 1 && word == k_control_expired ? Next::expired : Next::over;
    return set[0].revents != 0 ? Next::over : Next::look_again; // nothing is said any more: it is the client's end
}

} // namespace

int run_list_ports_worker(WorkerConnection& connection) {
    connection.write(encode(told(PortState::listening, listening_sockets())));
    return 0;
}

int run_wait_port_worker(WorkerConnection& connection, int control) {
    const auto request = connection.read_frame();
    if (!request || request->type != FrameType::request) return 0;
    const std::uint16_t port = decode_wait_port(request->payload);
    std::vector<unsigned long> seen;
    for (int looks = 0;; looks = std::min(looks + 1, k_first_looks)) {
        std::vector<ListeningSocket> sockets = listening_sockets();
        const bool listens = std::any_of(sockets.begin(), sockets.end(), [port](const auto& socket) { return socket.port == port; });
        if (std::vector<unsigned long> now = inodes_of(sockets); looks == 0 || now != seen) {
            seen = std::move(now);
            connection.write(encode(told(listens ? PortState::listening : PortState::waiting, std::move(sockets))));
        }
        if (listens) return 0;
        const Next next = rest(connection.fd(), control, looks < k_first_looks ? k_look_again_ms : k_look_seldom_ms);
        if (next == Next::expired) connection.write(encode(ListeningMessage{PortState::expired, {}}));
        if (next != Next::look_again) return 0;
    }
}

} // namespace sandbox::agent
