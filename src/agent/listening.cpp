// SPDX-License-Identifier: Apache-2.0
#include "agent/listening.hpp"

#include <array>
#include <cstdio>
#include <memory>

namespace sandbox::agent {
namespace {

constexpr unsigned k_listen_state = 0x0A; // TCP_LISTEN, as proc_net_tcp prints it

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

// Lines "sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ...", after one of headings.
void look_in(const char* path, std::uint16_t port, std::vector<std::uint64_t>& found) {
    const std::unique_ptr<std::FILE, Close> file(std::fopen(path, "re"));
    std::array<char, 512> line{};
    while (file && std::fgets(line.data(), line.size(), file.get()) != nullptr) {
        unsigned local = 0;
        unsigned state = 0;
        unsigned long long inode = 0;
        const int fields = std::sscanf(line.data(), " %*u: %*32[0-9A-Fa-f]:%x %*32[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %llu", &local, &state, &inode);
        if (fields == 3 && state == k_listen_state && local == port) found.push_back(inode);
    }
}

} // namespace

std::vector<std::uint64_t> listening_sockets(std::uint16_t port) {
    std::vector<std::uint64_t> found;
    for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) look_in(path, port, found);
    return found;
}

bool is_listening(std::uint16_t port) { return !listening_sockets(port).empty(); }

} // namespace sandbox::agent
