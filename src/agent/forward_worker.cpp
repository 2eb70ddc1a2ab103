// SPDX-License-Identifier: Apache-2.0
#include "agent/forward_worker.hpp"

#include "agent/exec_worker.hpp"
#include "agent/listening.hpp"
#include "agent/tcp_relay.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

// Data stops long before. Only a client that makes the agent answer and reads no answer gets there.
constexpr std::size_t k_too_much_outgoing = 4 << 20;

// What a server listens at when it listens at 127.0.0.1 or at ::1 as well.
bool is_tried_anyway(const std::string& address) {
    constexpr std::size_t four = sizeof(in_addr);
    const std::string loopback("\x7f\0\0\1", four);
    const std::string loopback_6(reinterpret_cast<const char*>(&in6addr_loopback), sizeof in6addr_loopback);
    return address == loopback || address == loopback_6 || address == std::string(four, '\0') || address == std::string(sizeof(in6_addr), '\0');
}

// The list is only asked when both are refused.
Addresses addresses_of(std::uint16_t port, TcpRelay::Attempt attempt) {
    if (attempt == TcpRelay::Attempt::first) return {loopback_address(AF_INET, port), loopback_address(AF_INET6, port)};
    Addresses addresses;
    for (const ListeningSocket& socket : sockets_at(port)) {
        if (!is_tried_anyway(socket.address)) addresses.push_back(socket_address(socket.address, port));
    }
    return addresses;
}

class ForwardWorker {
  public:
    ForwardWorker(WorkerConnection& connection, int control) : m_connection(connection), m_control(control), m_relay(FrameType::reply, addresses_of) {}
    void run();

  private:
    bool wait(std::vector<pollfd>& set);
    bool take_frames();
    bool flush();
    void say_farewell();

    WorkerConnection& m_connection;
    int m_control;
    TcpRelay m_relay;
};

void ForwardWorker::run() {
    m_connection.write(FrameType::reply, {});
    std::vector<pollfd> set;
    while (take_frames() && flush() && wait(set)) {
        if (set[1].revents != 0) return say_farewell();
        if ((set[0].revents & ~POLLOUT) != 0 && !m_connection.fill()) return;
        m_relay.serve(set);
    }
}

bool ForwardWorker::take_frames() {
    while (const auto frame = m_connection.buffered_view()) {
        if (frame->type != FrameType::request) return false;
        m_relay.take(frame->payload);
    }
    return true;
}

bool ForwardWorker::wait(std::vector<pollfd>& set) {
    const short writing = m_relay.outgoing().empty() ? 0 : POLLOUT;
    set = {{m_connection.fd(), static_cast<short>(POLLIN | writing), 0}, {m_control, POLLIN, 0}};
    m_relay.watch(set);
    while (::poll(set.data(), set.size(), -1) < 0) {
        if (errno != EINTR) return false;
    }
    return true;
}

// Never blocks: what the client sends is taken all the while, so that two ends that both want to send do not wait for each other.
bool ForwardWorker::flush() {
    while (!m_relay.outgoing().empty()) {
        const std::string_view out = m_relay.outgoing();
        const ssize_t sent = ::send(m_connection.fd(), out.data(), out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno == EAGAIN && out.size() < k_too_much_outgoing;
        m_relay.consume(static_cast<std::size_t>(sent));
    }
    return true;
}

void ForwardWorker::say_farewell() {
    char word = 0;
    if (::read(m_control, &word, 1) != 1 || word != k_control_expired) return;
    m_connection.write(m_relay.outgoing());
    m_connection.write(Writer(FrameType::reply).u8(static_cast<std::uint8_t>(StreamWord::expired)).u32(0).finish());
}

} // namespace

int run_forward_worker(WorkerConnection& connection, int control) {
    ForwardWorker(connection, control).run();
    return 0;
}

} // namespace sandbox::agent
