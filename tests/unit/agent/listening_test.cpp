// SPDX-License-Identifier: Apache-2.0
// Who listens, by sock_diag and, where a kernel or a seccomp profile has none, by the files of proc_net_tcp(5): both tell the same.
#include "agent/listening.hpp"
#include "agent/listening_diag.hpp"
#include "agent/tcp_relay.hpp"
#include "util/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <thread>
#include <tuple>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::agent;

namespace {

// From here on there is no netlink for this thread.
void forget_netlink() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{std::size(program), program};
    REQUIRE(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

struct Listener {
    explicit Listener(int family) : socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in6 address = loopback_address(family, 0);
        socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
        REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
        REQUIRE(::listen(socket.get(), 1) == 0);
        REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
        port = ntohs(address.sin6_port); // at the same place in both
    }
    Fd socket;
    std::uint16_t port = 0;
};

// What is known of one port, by one way of looking.
std::vector<ListeningSocket> found_at(std::uint16_t port, bool has_netlink) {
    std::vector<ListeningSocket> found;
    std::thread([&] {
        if (!has_netlink) forget_netlink();
        std::vector<ListeningSocket> unused;
        CHECK(read_by_diag(AF_INET, port, unused) == has_netlink);
        CHECK(is_listening(port));
        found = sockets_at(port);
        CHECK(listening_sockets(port).size() == found.size());
        const auto all = listening_sockets();
        CHECK(std::ranges::any_of(all, [port](const auto& one) { return one.port == port; }));
        CHECK(std::ranges::is_sorted(all, {}, &ListeningSocket::port));
        name_owners(found);
    }).join();
    return found;
}

} // namespace

TEST_CASE("the files of /proc tell of listening sockets what sock_diag tells") {
    for (const int family : {AF_INET, AF_INET6}) {
        CAPTURE(family);
        const Listener listener(family);
        const auto by_proc = found_at(listener.port, false);
        const auto by_diag = found_at(listener.port, true);
        REQUIRE(by_proc.size() == 1);
        REQUIRE(by_diag.size() == 1);
        const auto facts = [](const ListeningSocket& one) { return std::tuple(one.address, one.port, one.inode, one.pid, one.process); };
        CHECK(facts(by_proc[0]) == facts(by_diag[0]));
        CHECK(by_proc[0].address.size() == (family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr)));
        CHECK(by_proc[0].address.back() == 1); // 127.0.0.1, ::1
        CHECK(by_proc[0].pid == ::getpid());
        CHECK(by_proc[0].process == "unit-agent");
    }
}

TEST_CASE("a socket that does not listen is in neither") {
    const Listener listener(AF_INET);
    const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 address = loopback_address(AF_INET, listener.port);
    REQUIRE(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sockaddr_in)) == 0);
    CHECK(found_at(listener.port, false).size() == 1);
    CHECK(found_at(listener.port, true).size() == 1);
}
