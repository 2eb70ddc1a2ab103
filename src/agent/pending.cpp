// SPDX-License-Identifier: Apache-2.0
#include "agent/pending.hpp"

#include "util/random.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace sandbox::agent {
namespace {

constexpr std::size_t k_nonce_size = 16;
constexpr std::size_t k_read_size = 4096;

// Takes the first descriptor and closes whatever else came.
void take_descriptors(msghdr& message, Fd& received) {
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
            Fd owned(fd);
            if (!received) received = std::move(owned);
        }
    }
}

} // namespace

Pending::Pending(Fd connection, Origin came_from, std::size_t max_frame, std::int64_t give_up_at)
    : socket(std::move(connection)), origin(came_from), nonce(random_bytes(k_nonce_size)), decoder(max_frame), deadline(give_up_at) {}

bool Pending::fill() {
    const std::span<char> room = decoder.space(k_read_size);
    iovec part{room.data(), room.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    // Descriptors are taken from the creator alone; from anybody else the kernel drops them.
    if (origin == Origin::hello) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
    }
    const ssize_t count = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    take_descriptors(message, received);
    decoder.commit(static_cast<std::size_t>(count));
    return count > 0;
}

bool Pending::send(std::string_view frame) const {
    return ::send(socket.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size());
}

} // namespace sandbox::agent
