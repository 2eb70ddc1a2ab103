// SPDX-License-Identifier: Apache-2.0
#include "agent/listening_diag.hpp"

#include "util/fd.hpp"

#include <array>
#include <cerrno>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace sandbox::agent {
namespace {

constexpr timeval k_patience{1, 0}; // the kernel answers at once, or has lost the answer

constexpr std::size_t k_header = NLMSG_ALIGN(sizeof(nlmsghdr));

struct Request {
    nlmsghdr header;
    inet_diag_req_v2 body;
};

bool send_request(const Fd& socket, int family) {
    Request request{};
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.body.sdiag_family = static_cast<__u8>(family);
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_states = 1U << TCP_LISTEN;
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    return ::sendto(socket.get(), &request, sizeof request, 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) == sizeof request;
}

ListeningSocket listening_socket(const inet_diag_msg& told) {
    ListeningSocket socket;
    const std::size_t size = told.idiag_family == AF_INET6 ? sizeof(in6_addr) : sizeof(in_addr);
    socket.address.assign(reinterpret_cast<const char*>(&told.id.idiag_src[0]), size);
    socket.port = ntohs(told.id.idiag_sport);
    socket.inode = told.idiag_inode;
    return socket;
}

enum class Part { more, last, failed };

Part take_part(const char* bytes, std::size_t size, std::uint16_t port, std::vector<ListeningSocket>& sockets) {
    auto left = static_cast<unsigned>(size);
    for (const auto* header = reinterpret_cast<const nlmsghdr*>(bytes); NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
        if (header->nlmsg_type == NLMSG_DONE) return Part::last;
        if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || header->nlmsg_len < k_header + sizeof(inet_diag_msg)) return Part::failed;
        const auto* told = reinterpret_cast<const inet_diag_msg*>(reinterpret_cast<const char*>(header) + k_header);
        const bool is_wanted = port == 0 || ntohs(told->id.idiag_sport) == port;
        if (is_wanted && sockets.size() < k_max_listening) sockets.push_back(listening_socket(*told));
    }
    return Part::more;
}

} // namespace

bool read_by_diag(int family, std::uint16_t port, std::vector<ListeningSocket>& sockets) {
    const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!socket) return false;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &k_patience, sizeof k_patience);
    if (!send_request(socket, family)) return false;
    const std::size_t before = sockets.size();
    alignas(nlmsghdr) std::array<char, 32 << 10> room{};
    for (;;) {
        const ssize_t count = ::recv(socket.get(), room.data(), room.size(), 0);
        if (count < 0 && errno == EINTR) continue;
        const Part part = count <= 0 ? Part::failed : take_part(room.data(), static_cast<std::size_t>(count), port, sockets);
        if (part == Part::failed) sockets.resize(before);
        if (part != Part::more) return part == Part::last;
    }
}

} // namespace sandbox::agent
