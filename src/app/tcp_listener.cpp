// SPDX-License-Identifier: Apache-2.0
#include "app/tcp_listener.hpp"

#include "domain/forward_spec.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace sandbox::app {
namespace {

constexpr rlim_t k_other_files = 32; // what this process has open besides

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

Address resolve(const std::string& text, std::uint16_t port) {
    Address address;
    auto& four = reinterpret_cast<sockaddr_in&>(address.storage);
    auto& six = reinterpret_cast<sockaddr_in6&>(address.storage);
    if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        address.size = sizeof four;
    } else if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        address.size = sizeof six;
    } else {
        throw Error(ErrorCode::usage, quoted(text) + " is not an IP address");
    }
    return address;
}

Error cannot_listen(const std::string& address, std::uint16_t port, int error, const std::string& instead) {
    const std::string where = domain::address_and_port(address, port);
    switch (error) {
    case EADDRINUSE: return Error(ErrorCode::busy, "port " + where + " of this machine is taken").hint(instead);
    case EACCES: return Error(ErrorCode::denied, "this user may not listen on " + where).hint(instead);
    case EADDRNOTAVAIL: return {ErrorCode::usage, printable(address) + " is not an address of this machine"};
    default: return errno_error("cannot listen on " + where, error);
    }
}

std::uint16_t bound_port(int socket) {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) throw errno_error("cannot tell a port");
    return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(storage).sin6_port : reinterpret_cast<sockaddr_in&>(storage).sin_port);
}

} // namespace

TcpListener::TcpListener(const std::string& address, std::uint16_t port, const std::string& instead) : m_address(address), m_port(port) {
    const Address where = resolve(address, port);
    m_socket.reset(::socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!m_socket) throw errno_error("cannot make a socket");
    const int on = 1;
    ::setsockopt(m_socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); // what an earlier one left in TIME_WAIT is in nobody's way
    if (where.storage.ss_family == AF_INET6) ::setsockopt(m_socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (::bind(m_socket.get(), reinterpret_cast<const sockaddr*>(&where.storage), where.size) != 0 || ::listen(m_socket.get(), SOMAXCONN) != 0) {
        throw cannot_listen(address, port, errno, instead);
    }
    m_port = bound_port(m_socket.get());
}

Fd TcpListener::accept() const {
    Fd socket(::accept4(m_socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) throw errno_error("cannot take another connection");
    return socket;
}

std::size_t room_for_connections(std::size_t wanted, std::size_t files_each) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    const rlim_t files = wanted * files_each + k_other_files;
    if (limit.rlim_cur < files) {
        limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, files);
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= files) return wanted;
    return limit.rlim_cur <= k_other_files + files_each ? 1 : static_cast<std::size_t>(limit.rlim_cur - k_other_files) / files_each;
}

} // namespace sandbox::app
