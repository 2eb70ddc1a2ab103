// SPDX-License-Identifier: Apache-2.0
#include "engine/tls.hpp"

#include "engine/attached_stream.hpp"
#include "engine/http.hpp"
#include "throws.hpp"
#include "util/fs.hpp"
#include "util/process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <functional>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <thread>

using namespace sandbox;
using namespace sandbox::engine;

namespace {

constexpr std::chrono::milliseconds k_soon{5000};

// One key and certificate that is its own authority, good for both sides.
const std::string& certificates() {
    static const TempDir directory;
    static const std::string path = [] {
        const auto made = run_capture({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                                       "-subj", "/CN=engine", "-addext", "subjectAltName=DNS:engine.test", "-days", "1", "-keyout",
                                       directory.path() + "/key.pem", "-out", directory.path() + "/cert.pem"}, "");
        REQUIRE(made.status.success());
        AtomicFile authority(AT_FDCWD, directory.path() + "/ca.pem", 0600);
        write_all(authority.fd(), read_file(directory.path() + "/cert.pem").value());
        authority.publish();
        return directory.path();
    }();
    return path;
}

Endpoint endpoint() { return Endpoint::parse("tls://engine.test?certificates=" + certificates()); }

// A server that does what it is told after its handshake, in a thread; the client's end of the connection.
class Server {
  public:
    explicit Server(std::function<void(SSL*)> then) {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        m_client.reset(ends[0]);
        const std::string directory = certificates();
        m_thread = std::thread([end = ends[1], directory, then = std::move(then)] {
            const Fd socket(end);
            const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
            SSL_CTX_use_certificate_file(context.get(), (directory + "/cert.pem").c_str(), SSL_FILETYPE_PEM);
            SSL_CTX_use_PrivateKey_file(context.get(), (directory + "/key.pem").c_str(), SSL_FILETYPE_PEM);
            const std::unique_ptr<SSL, decltype(&SSL_free)> session(SSL_new(context.get()), SSL_free);
            SSL_set_fd(session.get(), end);
            if (SSL_accept(session.get()) == 1) then(session.get());
        });
    }
    ~Server() { m_thread.join(); }

    std::unique_ptr<Socket> connect() { return TlsClient(endpoint()).handshake(std::move(m_client), k_soon); }

  private:
    Fd m_client;
    std::thread m_thread;
};

std::string read_to_end(AttachedStream& stream) {
    std::string all;
    char bytes[1000];
    while (const std::size_t count = stream.read(bytes)) all.append(bytes, count);
    return all;
}

void send_all(SSL* session, std::string_view bytes) { SSL_write(session, bytes.data(), static_cast<int>(bytes.size())); }

std::string receive_to_end(SSL* session) {
    std::string all;
    char bytes[1000];
    for (int count = 0; (count = SSL_read(session, bytes, sizeof bytes)) > 0;) all.append(bytes, static_cast<std::size_t>(count));
    return SSL_get_shutdown(session) & SSL_RECEIVED_SHUTDOWN ? all : "cut after " + all;
}

} // namespace

TEST_CASE("a half-close is close_notify, and the other side's bytes still come, to their declared end") {
    std::string heard;
    std::string answer;
    {
        Server server([&](SSL* session) {
            heard = receive_to_end(session);
            send_all(session, std::string(40000, 'a'));
            SSL_shutdown(session);
        });
        AttachedStream stream(server.connect(), "", AttachedStream::Framing::raw);
        stream.write("input");
        stream.shutdown_write();
        answer = read_to_end(stream);
    }
    CHECK(heard == "input");
    CHECK(answer == std::string(40000, 'a'));
}

TEST_CASE("a connection that ends without close_notify was cut") {
    Server server([](SSL* session) { send_all(session, "half of it"); });
    AttachedStream stream(server.connect(), "", AttachedStream::Framing::raw);
    CHECK(error_of([&] { read_to_end(stream); }).code() == ErrorCode::engine_unreachable);
}

TEST_CASE("an answer up to the end of the connection is whole only with close_notify") {
    for (const bool is_declared : {true, false}) {
        CAPTURE(is_declared);
        Server server([&](SSL* session) {
            send_all(session, "HTTP/1.1 200 OK\r\n\r\nbody");
            if (is_declared) SSL_shutdown(session);
        });
        HttpConnection connection(server.connect());
        const HttpHead head = connection.read_head(k_soon);
        HttpBody body(connection, head, k_soon);
        if (is_declared) CHECK(body.read_all(100) == "body");
        else CHECK(error_of([&] { body.read_all(100); }).code() == ErrorCode::engine_unreachable);
    }
}

TEST_CASE("session tickets do not make a kept connection stale, its end does") {
    const Pipe go = make_pipe();
    Server server([&](SSL*) {
        char byte = 0;
        read_some(go.read.get(), {&byte, 1});
    });
    HttpConnection connection(server.connect());
    CHECK_FALSE(connection.is_stale());
    write_all(go.write.get(), "x");
    char byte = 0;
    CHECK(connection.read({&byte, 1}, k_soon) == 0);
    CHECK(connection.is_stale());
}

TEST_CASE("a write to a side that does not read waits, and takes in what that side sends") {
    std::string heard;
    {
        Server server([&](SSL* session) {
            send_all(session, std::string(3 << 20, 'b'));
            heard = receive_to_end(session);
            SSL_shutdown(session);
        });
        AttachedStream stream(server.connect(), "", AttachedStream::Framing::raw);
        stream.write(std::string(3 << 20, 'c'));
        stream.shutdown_write();
        CHECK(read_to_end(stream).size() == 3 << 20);
    }
    CHECK(heard == std::string(3 << 20, 'c'));
}

TEST_CASE("a side that says nothing is given up after the connect time-out") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    Fd near(ends[0]);
    const Fd far(ends[1]);
    const Error silent = error_of([&] { TlsClient(endpoint()).handshake(std::move(near), std::chrono::milliseconds(50)); });
    CHECK(silent.code() == ErrorCode::engine_unreachable);
    CHECK(mentions(silent.message(), "50ms"));
}
