// SPDX-License-Identifier: Apache-2.0
// Ports and forwards over a live agent. It has no network namespace of its own here, so that this process can play the server inside.
#include "live_agent.hpp"

#include "agent/tcp_relay.hpp"
#include "channel/connection.hpp"
#include "channel/forward.hpp"
#include "channel/ports.hpp"
#include "util/error.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <doctest/doctest.h>
#include <functional>
#include <future>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

using namespace sandbox;
using namespace sandbox::channel;
using namespace sandbox::channel::test;

namespace {

// A listening socket on a loopback address, at a port that the kernel has chosen.
struct Server {
    explicit Server(int family = AF_INET, bool listens = true) : socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in6 address = agent::loopback_address(family, 0);
        socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
        REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
        REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
        port = ntohs(address.sin6_port); // at the same place in both
        if (listens) listen();
    }
    void listen() const { REQUIRE(::listen(socket.get(), 1024) == 0); }
    Fd accept() const { return Fd(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
    Fd socket;
    std::uint16_t port = 0;
};

// A forward that is served by a thread of its own until it is let go; connections go in through socket pairs.
class Served {
  public:
    explicit Served(const Link& link) : m_forward(link), m_wake(make_pipe()) {
        m_forward.on_cut([this](std::uint32_t, std::uint16_t, int error) { last_error = error; ++cuts; });
        m_thread = std::thread([this] { loop(); });
    }
    ~Served() { stop(); }
    // Ends the thread, and says what ended it before.
    std::exception_ptr stop() {
        m_wake.write.reset();
        if (m_thread.joinable()) m_thread.join();
        return m_failure;
    }
    Fd connect(std::uint16_t port) {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        const std::uint32_t message[2] = {static_cast<std::uint32_t>(ends[1]), port};
        REQUIRE(::write(m_wake.write.get(), message, sizeof message) == sizeof message);
        return Fd(ends[0]);
    }
    void wait_for_end() {
        if (m_thread.joinable()) m_thread.join();
    }
    std::exception_ptr failure() const { return m_failure; }
    std::atomic<int> last_error = -1;
    std::atomic<int> cuts = 0;

  private:
    void loop() {
        try {
            std::vector<pollfd> set;
            for (;;) {
                set.assign(1, {m_wake.read.get(), POLLIN, 0});
                m_forward.watch(set);
                ::poll(set.data(), set.size(), m_forward.is_ready() ? 0 : -1);
                m_forward.serve(set);
                if (set[0].revents == 0) continue;
                std::uint32_t message[2];
                if (::read(m_wake.read.get(), message, sizeof message) != sizeof message) return;
                m_forward.carry(Fd(static_cast<int>(message[0])), static_cast<std::uint16_t>(message[1]));
                m_forward.flush();
            }
        } catch (...) {
            m_failure = std::current_exception();
        }
    }
    Forward m_forward;
    Pipe m_wake;
    std::thread m_thread;
    std::exception_ptr m_failure;
};

void send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        REQUIRE(count > 0);
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
}

std::string receive_all(int socket) { return read_all(socket, 64 << 20); }

std::string pattern(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 2654435761U) >> 13);
    return bytes;
}

const Listener* find(const std::vector<Listener>& listeners, std::uint16_t port) {
    const auto found = std::ranges::find(listeners, port, &Listener::port);
    return found == listeners.end() ? nullptr : &*found;
}

ErrorCode code_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.code();
    }
    return ErrorCode::internal;
}

} // namespace

TEST_CASE("ports that listen are listed with their addresses, and looking is no activity") {
    LiveAgent agent;
    const Server four;
    const Server six(AF_INET6);
    const Server silent(AF_INET, false);
    const auto listeners = list_ports(agent.link());
    const Listener* found = find(listeners, four.port);
    REQUIRE(found != nullptr);
    CHECK(found->address == "127.0.0.1");
    REQUIRE(find(listeners, six.port) != nullptr);
    CHECK(find(listeners, six.port)->address == "::1");
    CHECK(find(listeners, silent.port) == nullptr);
    CHECK(std::ranges::is_sorted(listeners, {}, &Listener::port));
    CHECK(status(agent.link()).operations == 0);
}

TEST_CASE("a port is waited for until it listens") {
    LiveAgent agent;
    const Server server(AF_INET, false);
    int seen = 0;
    const auto listeners = wait_port(agent.link(), server.port, boot_now_ms() + 30'000, [&](const std::vector<Listener>& now) {
        CHECK(find(now, server.port) == nullptr);
        if (seen++ == 0) server.listen();
    });
    REQUIRE(listeners);
    CHECK(find(*listeners, server.port) != nullptr);
    CHECK(seen >= 1);
}

TEST_CASE("waiting for a port ends with its time, and tells once how things are even then") {
    LiveAgent agent;
    const Server server(AF_INET, false);
    int seen = 0;
    CHECK_FALSE(wait_port(agent.link(), server.port, boot_now_ms(), [&](const auto&) { ++seen; }));
    CHECK(seen == 1);
    // A client that hung up leaves no worker.
    CHECK(eventually([&] { return status(agent.link()).operations == 0; }));
}

TEST_CASE("a wait for a port is activity, and hears of the session's end") {
    LiveAgent::Options options;
    options.setup.ttl_boot_ms = boot_now_ms() + 4000;
    options.setup.grace_ms = 200;
    LiveAgent agent(options);
    const Server server(AF_INET, false);
    CHECK(code_of([&] {
        wait_port(agent.link(), server.port, boot_now_ms() + 30'000, [&](const auto&) { CHECK(status(agent.link()).operations == 1); });
    }) == ErrorCode::session_gone);
}

TEST_CASE("bytes go both ways, and each direction ends by itself") {
    LiveAgent agent;
    int family = AF_INET;
    SUBCASE("127.0.0.1") {}
    SUBCASE("::1") { family = AF_INET6; }
    const Server server(family);
    Served forward(agent.link());
    const Fd client = forward.connect(server.port);
    send_all(client.get(), "question");
    ::shutdown(client.get(), SHUT_WR);
    const Fd inside = server.accept();
    CHECK(receive_all(inside.get()) == "question");
    // The client's end has come, and the answer still goes out.
    send_all(inside.get(), "answer");
    ::shutdown(inside.get(), SHUT_WR);
    CHECK(receive_all(client.get()) == "answer");
    CHECK(forward.cuts == 0);
}

TEST_CASE("megabytes arrive unchanged in both directions at once") {
    LiveAgent agent;
    const Server server;
    Served forward(agent.link());
    const Fd client = forward.connect(server.port);
    const Fd inside = server.accept();
    const std::string up = pattern(8 << 20);
    const std::string down = pattern((8 << 20) + 1);
    std::thread sender([&] {
        send_all(client.get(), up);
        ::shutdown(client.get(), SHUT_WR);
    });
    std::thread replier([&] {
        send_all(inside.get(), down);
        ::shutdown(inside.get(), SHUT_WR);
    });
    auto received_up = std::async(std::launch::async, [&] { return receive_all(inside.get()); });
    CHECK(receive_all(client.get()) == down);
    CHECK(received_up.get() == up);
    sender.join();
    replier.join();
}

TEST_CASE("a stream that nobody reads stops no other") {
    LiveAgent agent;
    const Server server;
    Served forward(agent.link());
    const Fd stuck = forward.connect(server.port);
    const Fd stuck_inside = server.accept();
    set_nonblocking(stuck.get(), true);
    set_nonblocking(stuck_inside.get(), true);
    const std::string piece = pattern(64 << 10);
    // Both directions are filled until nothing more is taken for a while.
    const auto fill = [&](int socket) {
        for (int refused = 0; refused < 20;) {
            if (::send(socket, piece.data(), piece.size(), MSG_NOSIGNAL) > 0) refused = 0;
            else ++refused, ::usleep(10'000);
        }
    };
    fill(stuck.get());
    fill(stuck_inside.get());
    for (int i = 0; i < 20; ++i) {
        const Fd client = forward.connect(server.port);
        const Fd inside = server.accept();
        send_all(client.get(), piece);
        ::shutdown(client.get(), SHUT_WR);
        CHECK(receive_all(inside.get()) == piece);
        send_all(inside.get(), piece);
        ::shutdown(inside.get(), SHUT_WR);
        CHECK(receive_all(client.get()) == piece);
    }
    CHECK(forward.cuts == 0);
}

TEST_CASE("a port that nobody serves is refused, and a reset comes through") {
    LiveAgent agent;
    const Server silent(AF_INET, false);
    Served forward(agent.link());
    const Fd refused = forward.connect(silent.port);
    CHECK(receive_all(refused.get()).empty());
    CHECK(eventually([&] { return forward.last_error == ECONNREFUSED; }));
    const Server server;
    const Fd client = forward.connect(server.port);
    Fd inside = server.accept();
    const linger at_once{1, 0};
    ::setsockopt(inside.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    inside.reset();
    CHECK(eventually([&] { return forward.cuts == 2 && forward.last_error == 0; }));
}

TEST_CASE("two hundred connections at once") {
    LiveAgent agent;
    const Server server;
    Served forward(agent.link());
    std::vector<Fd> clients;
    std::vector<Fd> inside;
    for (int i = 0; i < 200; ++i) clients.push_back(forward.connect(server.port));
    for (int i = 0; i < 200; ++i) inside.push_back(server.accept());
    for (const Fd& one : inside) send_all(one.get(), "hi");
    for (const Fd& one : inside) ::shutdown(one.get(), SHUT_WR);
    for (const Fd& one : clients) CHECK(receive_all(one.get()) == "hi");
}

TEST_CASE("an open forward is activity, and one that is let go leaves no worker") {
    LiveAgent agent;
    {
        const Forward forward(agent.link());
        CHECK(status(agent.link()).operations == 1);
    }
    CHECK(eventually([&] { return status(agent.link()).operations == 0; }));
}

TEST_CASE("a forward tells an expired session from one that is cut") {
    LiveAgent::Options options;
    options.setup.grace_ms = 200;
    SUBCASE("expired") {
        options.setup.ttl_boot_ms = boot_now_ms() + 4000;
        LiveAgent agent(options);
        Served forward(agent.link());
        forward.wait_for_end();
        CHECK(code_of([&] { std::rethrow_exception(forward.failure()); }) == ErrorCode::session_gone);
    }
    SUBCASE("killed") {
        LiveAgent agent(options);
        Served forward(agent.link());
        const Server server;
        const Fd client = forward.connect(server.port);
        const Fd inside = server.accept();
        ::kill(agent.pid(), SIGKILL);
        forward.wait_for_end();
        CHECK(code_of([&] { std::rethrow_exception(forward.failure()); }) == ErrorCode::session_unreachable);
    }
}

TEST_CASE("a client that breaks the protocol loses its forward and nothing else") {
    LiveAgent agent;
    const Server server;
    const auto word = [](agent::StreamWord which, std::uint32_t stream, std::string_view rest = {}) {
        return agent::Writer(agent::FrameType::request).u8(static_cast<std::uint8_t>(which)).u32(stream).raw(rest).finish();
    };
    const auto opened = [&](std::uint32_t stream, std::uint32_t port) {
        return agent::Writer(agent::FrameType::request).u8(1).u32(stream).u32(port).finish();
    };
    std::string frames;
    SUBCASE("port 0") { frames = opened(1, 0); }
    SUBCASE("a port past the last") { frames = opened(1, 65536); }
    SUBCASE("opened twice") { frames = opened(1, server.port) + opened(1, server.port); }
    SUBCASE("more than the window") {
        frames = opened(1, server.port);
        // The server takes nothing, and its socket holds some of it.
        for (int i = 0; i < 200; ++i) frames += word(agent::StreamWord::data, 1, pattern(100 << 10));
    }
    SUBCASE("data after the end") { frames = opened(1, server.port) + word(agent::StreamWord::end, 1) + word(agent::StreamWord::data, 1, "x"); }
    SUBCASE("more credit than any window") {
        frames = opened(1, server.port) + agent::Writer(agent::FrameType::request).u8(5).u32(1).u32(agent::k_largest_window).finish();
    }
    SUBCASE("an unknown word") { frames = word(static_cast<agent::StreamWord>(99), 1); }
    SUBCASE("cut short") { frames = agent::Writer(agent::FrameType::request).u8(1).finish(); }
    agent::FramedStream connection = open_live_connection(agent.link(), agent::Operation::forward, frames);
    // Whatever it still says ends soon.
    try {
        for (const std::int64_t until = boot_now_ms() + 20'000; boot_now_ms() < until;) read_before(connection, until);
        FAIL("the forward goes on");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::session_unreachable);
        CHECK(error.message().find("does not answer") == std::string::npos);
    }
    CHECK(agent.shell("echo alive") == "alive");
}

TEST_CASE("words about streams that are over are no error") {
    LiveAgent agent;
    const auto word = [](agent::StreamWord which) { return agent::Writer(agent::FrameType::request).u8(static_cast<std::uint8_t>(which)).u32(77).finish(); };
    const std::string frames = word(agent::StreamWord::data) + word(agent::StreamWord::end) + word(agent::StreamWord::reset) + word(agent::StreamWord::credit);
    agent::FramedStream connection = open_live_connection(agent.link(), agent::Operation::forward, frames);
    CHECK(read_before(connection, boot_now_ms() + 10'000).payload.empty());
    CHECK(status(agent.link()).operations == 1);
}
