// SPDX-License-Identifier: Apache-2.0
#include "scripted_server.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace sandbox::engine {
namespace {

void send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
}

std::size_t body_length(std::string_view head) {
    const std::string_view name = "Content-Length: ";
    const auto at = head.find(name);
    std::size_t length = 0;
    if (at != std::string_view::npos) std::from_chars(head.data() + at + name.size(), head.data() + head.size(), length);
    return length;
}

} // namespace

Answer json_answer(int status, std::string_view body) {
    return {.text = "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + std::string(body)};
}

Answer ping_answer(std::string_view api_version) {
    return {.text = "HTTP/1.1 200 OK\r\nApi-Version: " + std::string(api_version) + "\r\nContent-Length: 2\r\n\r\nOK"};
}

ScriptedServer::ScriptedServer(std::vector<Answer> answers) : m_answers(std::move(answers)), m_stop(make_pipe()) {
    m_listener.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = endpoint().path;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (::bind(m_listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(m_listener.get(), 16) != 0) {
        throw std::runtime_error("cannot listen at " + path);
    }
    m_thread = std::thread([this] { run(); });
}

ScriptedServer::~ScriptedServer() {
    m_stop.write.reset();
    m_thread.join();
}

Endpoint ScriptedServer::endpoint() const { return Endpoint::parse("unix://" + m_directory.path() + "/engine.sock"); }

std::vector<std::string> ScriptedServer::requests() const {
    const std::lock_guard lock(m_mutex);
    return m_requests;
}

std::size_t ScriptedServer::connections() const {
    const std::lock_guard lock(m_mutex);
    return m_connections;
}

void ScriptedServer::run() {
    std::vector<std::thread> threads;
    for (;;) {
        pollfd entries[2] = {{m_listener.get(), POLLIN, 0}, {m_stop.read.get(), POLLIN, 0}};
        ::poll(entries, 2, -1);
        if (entries[1].revents != 0) break;
        const int fd = ::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
        const std::lock_guard lock(m_mutex);
        ++m_connections;
        threads.emplace_back([this, fd] { serve(fd); });
    }
    for (auto& thread : threads) thread.join();
}

void ScriptedServer::serve(int fd) {
    const Fd connection(fd);
    while (read_request(fd)) {
        Answer next{.close_at_once = true};
        {
            const std::lock_guard lock(m_mutex);
            if (m_next < m_answers.size()) next = m_answers[m_next++];
        }
        if (next.close_at_once) return;
        answer(fd, next);
        if (next.close || next.echo) return;
    }
}

bool ScriptedServer::read_request(int fd) {
    std::string request;
    std::size_t whole = std::string::npos;
    while (request.size() < whole) {
        pollfd entries[2] = {{fd, POLLIN, 0}, {m_stop.read.get(), POLLIN, 0}};
        ::poll(entries, 2, -1);
        if (entries[1].revents != 0) return false;
        char bytes[65536];
        const ssize_t count = ::recv(fd, bytes, sizeof bytes, 0);
        if (count <= 0) return false;
        request.append(bytes, static_cast<std::size_t>(count));
        const auto end = request.find("\r\n\r\n");
        if (end == std::string::npos) continue;
        const bool chunked = request.find("Transfer-Encoding: chunked") < end;
        if (!chunked) whole = end + 4 + body_length(request.substr(0, end));
        else if (request.ends_with("\r\n0\r\n\r\n")) break;
    }
    const std::lock_guard lock(m_mutex);
    m_requests.push_back(std::move(request));
    return true;
}

void ScriptedServer::answer(int fd, const Answer& answer) {
    if (answer.piece == 0) {
        send_all(fd, answer.text);
    } else {
        for (std::size_t at = 0; at < answer.text.size(); at += answer.piece) {
            send_all(fd, std::string_view(answer.text).substr(at, answer.piece));
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    }
    if (answer.mute) {
        pollfd entry{m_stop.read.get(), POLLIN, 0};
        ::poll(&entry, 1, -1);
    }
    char bytes[4096];
    for (ssize_t count = 1; answer.echo && count > 0;) {
        count = ::recv(fd, bytes, sizeof bytes, 0);
        if (count > 0) send_all(fd, {bytes, static_cast<std::size_t>(count)});
    }
}

} // namespace sandbox::engine
