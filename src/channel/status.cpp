// SPDX-License-Identifier: Apache-2.0
#include "channel/connection.hpp"

#include <algorithm>
#include <poll.h>
#include <sys/socket.h>

namespace sandbox::channel {
namespace {

using agent::FrameType;
using agent::FrameView;
using agent::Operation;

// Descriptors in use at once; the usual soft limit is 1024.
constexpr std::size_t k_batch = 256;

Status public_status(std::string_view payload) {
    const agent::StatusMessage message = agent::decode_status(payload);
    return {message.boot_now_ms, message.ttl_boot_ms, message.idle_timeout_ms, message.idle_left_ms, message.operations,
            message.processes, message.workspace_writable, message.uid, message.gid};
}

// One session of many: connected without waiting, asked before its hello came.
class Inquiry {
  public:
    explicit Inquiry(const std::string& session_directory) {
        const Fd directory = open_directory(session_directory);
        Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!directory || !socket || connect_in(socket.get(), directory.get(), k_agent_socket) != 0) return;
        const std::string open = agent::encode(agent::OpenMessage{agent::k_oldest_protocol_version, Operation::status, {}});
        if (::send(socket.get(), open.data(), open.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(open.size())) {
            m_socket = std::move(socket);
        }
    }
    int fd() const { return m_socket.get(); }
    bool is_open() const { return static_cast<bool>(m_socket); }
    // Reads what is there; whatever is not an answer in order ends the inquiry.
    std::optional<Status> read() {
        try {
            const std::size_t count = read_some(m_socket.get(), m_decoder.space(4096));
            m_decoder.commit(count);
            while (const auto frame = m_decoder.next_view()) {
                if (frame->type == FrameType::hello) continue;
                m_socket.reset();
                if (frame->type == FrameType::status) return public_status(frame->payload);
                return std::nullopt;
            }
            if (count == 0) m_socket.reset();
        } catch (const std::exception&) {
            m_socket.reset();
        }
        return std::nullopt;
    }

  private:
    Fd m_socket;
    agent::Decoder m_decoder;
};

void ask(std::span<const std::string> directories, std::span<std::optional<Status>> answers, std::int64_t until) {
    std::vector<Inquiry> inquiries;
    inquiries.reserve(directories.size());
    for (const std::string& directory : directories) inquiries.emplace_back(directory);
    for (;;) {
        std::vector<pollfd> set;
        for (const Inquiry& inquiry : inquiries) set.push_back({inquiry.fd(), POLLIN, 0});
        const bool any = std::any_of(inquiries.begin(), inquiries.end(), [](const Inquiry& one) { return one.is_open(); });
        const std::int64_t left = until - boot_now_ms();
        if (!any || left <= 0 || ::poll(set.data(), set.size(), static_cast<int>(left)) < 0) return;
        for (std::size_t i = 0; i < set.size(); ++i) {
            if (set[i].revents != 0) answers[i] = inquiries[i].read();
        }
    }
}

} // namespace

Status status(const Link& link, Milliseconds deadline) {
    const std::int64_t until = boot_now_ms() + deadline.count();
    agent::FramedStream connection = open_connection(link, Operation::status, {}, deadline);
    const FrameView frame = read_before(connection, until);
    if (frame.type != FrameType::status) throw broken_protocol("no status");
    try {
        return public_status(frame.payload);
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    }
}

std::vector<std::optional<Status>> status_many(std::span<const std::string> session_directories, Milliseconds deadline) {
    std::vector<std::optional<Status>> answers(session_directories.size());
    const std::int64_t until = boot_now_ms() + deadline.count();
    for (std::size_t first = 0; first < answers.size(); first += k_batch) {
        const std::size_t count = std::min(k_batch, answers.size() - first);
        ask(session_directories.subspan(first, count), std::span(answers).subspan(first, count), until);
    }
    return answers;
}

void set_deadlines(const Link& link, std::optional<std::int64_t> ttl_boot_ms, std::optional<std::int64_t> idle_timeout_ms) {
    agent::DeadlineMessage message{ttl_boot_ms.value_or(-1), idle_timeout_ms.value_or(-1), {}};
    agent::FramedStream connection(link.dial());
    const agent::HelloMessage hello = await_hello(connection, link);
    agent::OpenMessage open{agent::k_oldest_protocol_version, Operation::set_deadline, {}};
    if (!link.secret.empty()) {
        open.proof = as_view(agent::open_proof(link.secret, hello.nonce, open.operation));
        message.proof = as_view(agent::deadline_proof(link.secret, hello.nonce, message));
    }
    connection.write(agent::encode(open) + agent::encode(message));
    const Milliseconds patience = link.on_silence ? k_longest_hello_patience : hello_patience(link);
    if (read_before(connection, boot_now_ms() + patience.count()).type != FrameType::done) throw broken_protocol("no confirmation");
}

} // namespace sandbox::channel
