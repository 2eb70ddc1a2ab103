// SPDX-License-Identifier: Apache-2.0
// A server for tests of forward and preview, static so that it runs in any image: web_server ADDRESS PORT.
//
// HTTP: GET / is a page that opens a WebSocket and writes into itself what came back, loaded no sooner than that (its picture, /held, waits
// for it); /head answers with the request's head, POST /echo with its
// body, /part with a part of an answer and a reset, /cookie sets cookies, /cached says that it may be kept, /zeros?N sends N MiB, /ws is a WebSocket that echoes.
// Anything that does not begin with a capital letter is echoed as it is, until its end; then the number of bytes follows, and the end.
#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr const char* k_page = R"(<!doctype html><title>inside</title><body><p id=ws>no answer</p><p id=cookie></p><script>
document.getElementById('cookie').textContent = 'cookie:' + document.cookie;
const socket = new WebSocket('ws://' + location.host + '/ws');
socket.onopen = () => socket.send('through the preview');
socket.onmessage = (event) => {
  if (event.data === 'seen') return;
  document.getElementById('ws').textContent = 'echo:' + event.data;
  socket.send('seen');
};
socket.onerror = () => { document.getElementById('ws').textContent = 'failed'; };
</script><img src=/held>)";

std::string sha1(std::string text) {
    std::array<std::uint32_t, 5> h{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    const std::uint64_t bits = text.size() * 8;
    text += '\x80';
    while (text.size() % 64 != 56) text += '\0';
    for (int i = 7; i >= 0; --i) text += static_cast<char>(bits >> (8 * i));
    const auto roll = [](std::uint32_t x, int n) { return x << n | x >> (32 - n); };
    for (std::size_t block = 0; block < text.size(); block += 64) {
        std::array<std::uint32_t, 80> w{};
        for (std::size_t i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(text[block + i]);
        for (std::size_t i = 16; i < 80; ++i) w[i] = roll(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        auto [a, b, c, d, e] = h;
        for (std::size_t i = 0; i < 80; ++i) {
            const std::uint32_t f = i < 20 ? (b & c) | (~b & d) : i < 40 ? b ^ c ^ d : i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
            const std::uint32_t k = i < 20 ? 0x5A827999 : i < 40 ? 0x6ED9EBA1 : i < 60 ? 0x8F1BBCDC : 0xCA62C1D6;
            const std::uint32_t t = roll(a, 5) + f + e + k + w[i];
            e = d, d = c, c = roll(b, 30), b = a, a = t;
        }
        h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
    }
    std::string digest;
    for (const std::uint32_t word : h) {
        for (int i = 3; i >= 0; --i) digest += static_cast<char>(word >> (8 * i));
    }
    return digest;
}

std::string base64(const std::string& bytes) {
    constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j) group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
        for (std::size_t j = 0; j < 4; ++j) text += i + j > bytes.size() ? '=' : digits[group >> (6 * (3 - j)) & 63];
    }
    return text;
}

std::mutex seen_mutex;
std::condition_variable seen_changed;
bool seen = false; // a page has shown what its WebSocket said

class Connection {
  public:
    explicit Connection(int socket) : m_socket(socket) {}
    ~Connection() { ::close(m_socket); }
    bool send(const std::string& bytes) const {
        for (std::size_t done = 0; done < bytes.size();) {
            const ssize_t count = ::send(m_socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
            if (count <= 0) return false;
            done += static_cast<std::size_t>(count);
        }
        return true;
    }
    // At least so many bytes in `buffer`; false at the end.
    bool fill(std::size_t wanted) {
        std::array<char, 65536> piece{};
        while (buffer.size() < wanted) {
            const ssize_t count = ::recv(m_socket, piece.data(), piece.size(), 0);
            if (count <= 0) return false;
            buffer.append(piece.data(), static_cast<std::size_t>(count));
        }
        return true;
    }
    std::string take(std::size_t count) {
        std::string taken = buffer.substr(0, count);
        buffer.erase(0, count);
        return taken;
    }
    void reset_on_close() const {
        const linger at_once{1, 0};
        ::setsockopt(m_socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    std::string buffer;

  private:
    int m_socket;
};

std::string header(const std::string& head, const std::string& name) {
    const auto at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const auto start = at + name.size() + 4;
    return head.substr(start, head.find("\r\n", start) - start);
}

std::string answer(const std::string& type, const std::string& body, const std::string& more = {}) {
    return "HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more + "\r\n" + body;
}

void echo_websocket(Connection& connection, const std::string& head) {
    const std::string accept = base64(sha1(header(head, "Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
    connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + "\r\n\r\n");
    while (connection.fill(2)) {
        const auto size = static_cast<std::size_t>(connection.buffer[1] & 127); // short texts only
        const int opcode = connection.buffer[0] & 15;
        if (!connection.fill(6 + size)) return;
        std::string frame = connection.take(6 + size);
        for (std::size_t i = 0; i < size; ++i) frame[6 + i] = static_cast<char>(frame[6 + i] ^ frame[2 + i % 4]);
        if (frame.substr(6) == "seen") {
            const std::lock_guard lock(seen_mutex);
            seen = true;
            seen_changed.notify_all();
        }
        connection.send(std::string{frame[0], static_cast<char>(size)} + frame.substr(6));
        if (opcode == 8) return;
    }
}

void serve_http(Connection& connection) {
    while (connection.buffer.find("\r\n\r\n") == std::string::npos) {
        if (!connection.fill(connection.buffer.size() + 1)) return;
    }
    const std::string head = connection.take(connection.buffer.find("\r\n\r\n") + 4);
    const std::string path = head.substr(head.find(' ') + 1, head.find(' ', head.find(' ') + 1) - head.find(' ') - 1);
    if (path == "/ws") return echo_websocket(connection, head);
    if (path == "/held") {
        std::unique_lock lock(seen_mutex);
        seen_changed.wait_for(lock, std::chrono::seconds(30), [] { return seen; });
        seen = false;
        return;
    }
    if (path.starts_with("/head")) connection.send(answer("text/plain", head));
    else if (path == "/cookie") connection.send(answer("text/plain", "set", "Set-Cookie: theme=dark\r\nSet-Cookie: sandbox_preview_1=stolen\r\n"));
    else if (path == "/cached") connection.send(answer("text/plain", "kept", "Cache-Control: max-age=3600\r\nETag: \"1\"\r\nX-Frame-Options: ALLOWALL\r\n"));
    else if (path == "/silent") return;
    else if (path.starts_with("/zeros")) { // /zeros?MIB
        const std::string piece(1 << 20, '\0');
        const long pieces = std::atol(path.substr(path.find('?') + 1).c_str());
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(pieces * static_cast<long>(piece.size())) + "\r\n\r\n");
        for (long i = 0; i < pieces && connection.send(piece); ++i) {}
    }
    else if (path == "/part") {
        connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\npart");
        ::usleep(200'000);
        return connection.reset_on_close();
    } else if (path == "/echo") {
        const auto size = static_cast<std::size_t>(std::atoll(header(head, "Content-Length").c_str()));
        connection.fill(size);
        connection.send(answer("application/octet-stream", connection.take(size)));
    } else connection.send(answer("text/html", k_page));
}

void echo_bytes(Connection& connection) {
    std::size_t total = 0;
    do {
        total += connection.buffer.size();
        if (!connection.send(connection.take(connection.buffer.size()))) return;
    } while (connection.fill(1));
    connection.send("\n" + std::to_string(total));
}

void serve(int socket) {
    Connection connection(socket);
    if (!connection.fill(1)) return;
    if (connection.buffer[0] >= 'A' && connection.buffer[0] <= 'Z') serve_http(connection);
    else echo_bytes(connection);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const bool six = std::string(argv[1]).find(':') != std::string::npos;
    sockaddr_in four_address{};
    four_address.sin_family = AF_INET;
    four_address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[2])));
    sockaddr_in6 six_address{};
    six_address.sin6_family = AF_INET6;
    six_address.sin6_port = four_address.sin_port;
    ::inet_pton(six ? AF_INET6 : AF_INET, argv[1], six ? static_cast<void*>(&six_address.sin6_addr) : static_cast<void*>(&four_address.sin_addr));
    const int listener = ::socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const auto* address = six ? reinterpret_cast<const sockaddr*>(&six_address) : reinterpret_cast<const sockaddr*>(&four_address);
    if (::bind(listener, address, six ? sizeof six_address : sizeof four_address) != 0 || ::listen(listener, 1024) != 0) {
        std::perror("cannot listen");
        return 1;
    }
    for (;;) {
        const int socket = ::accept(listener, nullptr, nullptr);
        if (socket >= 0) std::thread(serve, socket).detach();
    }
}
