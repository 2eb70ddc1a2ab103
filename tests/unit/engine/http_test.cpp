// SPDX-License-Identifier: Apache-2.0
#include "engine/http.hpp"

#include "throws.hpp"

#include <chrono>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <thread>

using namespace sandbox;
using namespace sandbox::engine;

namespace {

constexpr std::chrono::milliseconds k_soon{2000};
constexpr std::chrono::milliseconds k_short{60};

// Both ends of a connection; a thread plays the server's part in pieces of `piece` bytes and closes.
class Played {
  public:
    Played(std::string bytes, std::size_t piece, bool keep_open = false) {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        m_client.reset(ends[0]);
        m_server.reset(ends[1]);
        m_thread = std::thread([this, bytes = std::move(bytes), piece, keep_open] {
            for (std::size_t at = 0; at < bytes.size(); at += piece) {
                ::send(m_server.get(), bytes.data() + at, std::min(piece, bytes.size() - at), MSG_NOSIGNAL);
                if (piece < bytes.size() && bytes.size() < 4096) std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
            if (!keep_open) m_server.reset();
        });
    }
    ~Played() { m_thread.join(); }
    Fd client() { return std::move(m_client); }

  private:
    Fd m_client;
    Fd m_server;
    std::thread m_thread;
};

std::string body_of(const std::string& answer, std::size_t piece) {
    Played played(answer, piece);
    HttpConnection connection(std::make_unique<PlainSocket>(played.client()));
    const HttpHead head = connection.read_head(k_soon);
    return HttpBody(connection, head, k_soon).read_all(1 << 20);
}

ErrorCode body_fault(const std::string& answer) {
    return error_of([&] { body_of(answer, 1 << 20); }).code();
}

} // namespace

TEST_CASE("a head is parsed without regard to case and with either line end") {
    const HttpHead head = parse_head("HTTP/1.1 200 OK\r\nAPI-VERSION:  1.41 \r\nConnection: foo, Close\r\n\r\n");
    CHECK(head.status == 200);
    CHECK(head.find("Api-Version") == "1.41");
    CHECK(head.has_token("connection", "close"));
    CHECK_FALSE(head.find("Missing"));
    CHECK(parse_head("HTTP/1.0 404 Not Found\nA: b\n\n").find("a") == "b");
    CHECK(parse_head("HTTP/1.1 204\r\n\r\n").status == 204);
}

TEST_CASE("a malformed head is a protocol error") {
    for (const char* text : {"", "\r\n", "HTTP/2 200 OK\r\n", "HTTP/1.1 2x0 OK\r\n", "HTTP/1.1 099 X\r\n", "garbage\r\n",
                             "HTTP/1.1 200 OK\r\nno colon\r\n", "HTTP/1.1 200 OK\r\n folded: x\r\n",
                             "HTTP/1.1 200 OK\r\nName : x\r\n", "HTTP/1.1 200 OK\r\n: x\r\n", "HTTP/1.1 2000 OK\r\n"}) {
        CAPTURE(text);
        CHECK(error_of([&] { parse_head(text); }).code() == ErrorCode::protocol_error);
    }
}

TEST_CASE("every framing is read whole, however the bytes are cut") {
    const std::string length = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world";
    const std::string chunked = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n"
                                "6\r\nhello \r\n5;name=\"value\"\r\nworld\r\n0\r\nTrailer: x\r\n\r\n";
    const std::string until_close = "HTTP/1.1 200 OK\r\n\r\nhello world";
    for (const auto& answer : {length, chunked, until_close}) {
        for (std::size_t piece = 1; piece <= answer.size(); piece += piece < 10 ? 1 : 17) {
            CAPTURE(answer);
            CAPTURE(piece);
            CHECK(body_of(answer, piece) == "hello world");
        }
    }
    CHECK(body_of("HTTP/1.1 204 No Content\r\n\r\n", 100).empty());
    CHECK(body_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 100).empty());
}

TEST_CASE("a body that ends early is never a whole one") {
    CHECK(body_fault("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello world") == ErrorCode::engine_unreachable);
    const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const char* body : {"", "5", "5\r\n", "5\r\nhel", "5\r\nhello", "5\r\nhello\r\n", "5\r\nhello\r\n0\r\n"}) {
        CAPTURE(body);
        CHECK(body_fault(head + body) == ErrorCode::engine_unreachable);
    }
}

TEST_CASE("lengths and chunk sizes that make no sense are protocol errors") {
    const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& answer :
         {chunked + "zz\r\nhello\r\n0\r\n\r\n", chunked + "-5\r\nhello\r\n0\r\n\r\n", chunked + "\r\n\r\n",
          chunked + "11111111111111111\r\nhello", chunked + "3\r\nhello\r\n0\r\n\r\n", chunked + "0x5\r\nhello\r\n",
          chunked + std::string(10000, '1') + "\r\n",
          std::string("HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello"),
          std::string("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello"),
          std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
          std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")}) {
        CAPTURE(answer.substr(0, 100));
        CHECK(body_fault(answer) == ErrorCode::protocol_error);
    }
}

TEST_CASE("a body that is longer than its limit is refused") {
    Played played("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'x'), 1000);
    HttpConnection connection(std::make_unique<PlainSocket>(played.client()));
    const HttpHead head = connection.read_head(k_soon);
    HttpBody body(connection, head, k_soon);
    CHECK(error_of([&] { body.read_all(99); }).code() == ErrorCode::engine_error);
}

TEST_CASE("a huge head is refused, whether or not it ever ends") {
    for (const char* end : {"", "\r\n\r\n"}) {
        Played played("HTTP/1.1 200 OK\r\nX: " + std::string(100000, 'x') + end, 5000);
        HttpConnection connection(std::make_unique<PlainSocket>(played.client()));
        CHECK(error_of([&] { connection.read_head(k_soon); }).code() == ErrorCode::protocol_error);
    }
}

TEST_CASE("silence ends at the deadline: before the head, inside it, and inside the body") {
    for (const char* text : {"", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"}) {
        CAPTURE(text);
        Played played(text, 1000, true);
        HttpConnection connection(std::make_unique<PlainSocket>(played.client()));
        const auto start = std::chrono::steady_clock::now();
        const Error error = error_of([&] {
            const HttpHead head = connection.read_head(k_short);
            HttpBody(connection, head, k_short).read_all(100);
        });
        CHECK(error.code() == ErrorCode::engine_unreachable);
        CHECK(mentions(error.message(), "60ms"));
        CHECK(std::chrono::steady_clock::now() - start < k_soon);
    }
}

TEST_CASE("a head that drips does not outlive its deadline") {
    Played played("HTTP/1.1 200 OK\r\nX: " + std::string(3000, 'x'), 1);
    HttpConnection connection(std::make_unique<PlainSocket>(played.client()));
    CHECK(error_of([&] { connection.read_head(k_short); }).code() == ErrorCode::engine_unreachable);
}

TEST_CASE("bytes after an upgrade's head are handed on") {
    Played played("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\n\r\nfirst bytes", 1000);
    HttpConnection connection(std::make_unique<PlainSocket>(played.client()));
    CHECK(connection.read_head(k_soon).status == 101);
    CHECK(connection.take_buffered() == "first bytes");
}

TEST_CASE("a connection is usable again only after a delimited body without close") {
    const auto usable = [](const std::string& answer) {
        Played played(answer, 1000, true);
        HttpConnection connection(std::make_unique<PlainSocket>(played.client()));
        const HttpHead head = connection.read_head(k_soon);
        HttpBody body(connection, head, k_short);
        char bytes[100];
        try {
            while (body.read(bytes) > 0) {}
        } catch (const Error&) {
            return false;
        }
        return body.leaves_connection_usable();
    };
    CHECK(usable("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    CHECK(usable("HTTP/1.1 204 No Content\r\n\r\n"));
    CHECK_FALSE(usable("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"));
    CHECK_FALSE(usable("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    CHECK_FALSE(usable("HTTP/1.1 200 OK\r\n\r\nok"));
}

TEST_CASE("what goes into a path or query is encoded") {
    CHECK(percent_encode("a-Z_0.9~") == "a-Z_0.9~");
    CHECK(percent_encode("../x?y=1&z #%\r\n") == "..%2Fx%3Fy%3D1%26z%20%23%25%0D%0A");
    CHECK(percent_encode("\xC3\xA9") == "%C3%A9");
}
