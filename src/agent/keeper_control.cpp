// SPDX-License-Identifier: Apache-2.0
#include "agent/keeper_control.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace sandbox::agent {
namespace {

constexpr std::size_t k_header = 5; // of the frame that Writer makes, which a socket with messages has no use for
constexpr std::size_t k_max_message = 16 << 10;

void attach(msghdr& message, std::array<char, CMSG_SPACE(sizeof(int))>& space, int fd) {
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
}

Fd attached(msghdr& message) {
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return {};
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return Fd(fd);
}

} // namespace

bool say(int control, ControlWord word, const std::function<void(Writer&)>& fields, int flags, int fd) {
    Writer writer(FrameType::request);
    if (fields) fields(writer);
    std::string bytes = writer.finish().substr(k_header);
    bytes.insert(bytes.begin(), static_cast<char>(word));
    iovec part{bytes.data(), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (fd >= 0) attach(message, space, fd);
    ssize_t sent = -1;
    do sent = ::sendmsg(control, &message, flags | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<ControlMessage> hear(int control, int flags, bool& is_over) {
    ControlMessage heard;
    heard.fields.resize(k_max_message);
    iovec part{heard.fields.data(), heard.fields.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    ssize_t count = -1;
    do count = ::recvmsg(control, &message, flags | MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count <= 0) {
        is_over = count == 0 || errno != EAGAIN;
        return std::nullopt;
    }
    heard.fd = attached(message);
    heard.word = static_cast<ControlWord>(heard.fields[0]);
    heard.fields.resize(static_cast<std::size_t>(count));
    heard.fields.erase(0, 1);
    return heard;
}

} // namespace sandbox::agent
