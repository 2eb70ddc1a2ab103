// SPDX-License-Identifier: Apache-2.0
#include "agent/listening.hpp"

#include "agent/listening_diag.hpp"
#include "agent/processes.hpp"
#include "util/fd.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <iterator>
#include <memory>
#include <sys/socket.h>
#include <tuple>
#include <unistd.h>

namespace sandbox::agent {
namespace {

constexpr unsigned k_listen_state = 0x0A; // TCP_LISTEN
constexpr std::size_t k_word_digits = 8;
constexpr std::string_view k_socket_prefix = "socket:[";

// The kernel prints each 32-bit word of an address as a number of this machine, so its bytes in memory are the address again.
std::string address_bytes(std::string_view digits) {
    std::string bytes;
    for (; digits.size() >= k_word_digits; digits.remove_prefix(k_word_digits)) {
        const auto word = static_cast<std::uint32_t>(std::strtoul(std::string(digits.substr(0, k_word_digits)).c_str(), nullptr, 16));
        bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    return bytes;
}

// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ...
bool parse_line(const char* line, ListeningSocket& socket) {
    std::array<char, 33> address{};
    unsigned port = 0;
    unsigned state = 0;
    if (std::sscanf(line, " %*d: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %*u %*d %lu", address.data(), &port, &state, &socket.inode) != 4) {
        return false;
    }
    socket.address = address_bytes(address.data());
    socket.port = static_cast<std::uint16_t>(port);
    return state == k_listen_state && (socket.address.size() == 4 || socket.address.size() == 16);
}

void read_table(const char* path, std::uint16_t port, std::vector<ListeningSocket>& sockets) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "re"), std::fclose);
    if (!file) return; // no IPv6, say
    std::array<char, 512> line{};
    while (sockets.size() < k_max_listening && std::fgets(line.data(), line.size(), file.get()) != nullptr) {
        ListeningSocket socket;
        if (parse_line(line.data(), socket) && (port == 0 || socket.port == port)) sockets.push_back(std::move(socket));
    }
}

// Of one port, or of all (0): then the first of each family, so that a program that opens very many hides no others.
std::vector<ListeningSocket> read_sockets(std::uint16_t port) {
    std::vector<ListeningSocket> all;
    for (const int family : {AF_INET, AF_INET6}) {
        std::vector<ListeningSocket> sockets;
        if (!read_by_diag(family, port, sockets)) read_table(family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", port, sockets);
        sockets.resize(std::min(sockets.size(), k_max_listening / 2));
        std::move(sockets.begin(), sockets.end(), std::back_inserter(all));
    }
    return all;
}

// 0 for what is no socket.
unsigned long socket_inode(int directory, const char* name) {
    std::array<char, 64> target{};
    const ssize_t length = ::readlinkat(directory, name, target.data(), target.size() - 1);
    if (length <= 0 || !std::string_view(target.data()).starts_with(k_socket_prefix)) return 0;
    return std::strtoul(target.data() + k_socket_prefix.size(), nullptr, 10);
}

std::string process_name(pid_t pid) {
    const Fd file(::open(("/proc/" + std::to_string(pid) + "/comm").c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 64> text{};
    const ssize_t length = file ? ::read(file.get(), text.data(), text.size()) : 0;
    std::string name(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    while (name.ends_with('\n')) name.pop_back();
    return name;
}

// A listening socket is mostly held by children as well: the process that has been there longest is the one that a person knows.
void look_into(const Process& process, std::vector<ListeningSocket>& sockets) {
    const std::string path = "/proc/" + std::to_string(process.pid) + "/fd";
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
    if (!directory) return;
    while (const dirent* entry = ::readdir(directory.get())) {
        const unsigned long inode = socket_inode(::dirfd(directory.get()), entry->d_name);
        if (inode == 0) continue;
        for (ListeningSocket& socket : sockets) {
            if (socket.inode == inode && socket.pid == 0) socket.pid = process.pid;
        }
    }
}

} // namespace

std::vector<ListeningSocket> listening_sockets() {
    std::vector<ListeningSocket> sockets = read_sockets(0);
    std::sort(sockets.begin(), sockets.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.port, a.address.size(), a.address, a.inode) < std::tuple(b.port, b.address.size(), b.address, b.inode);
    });
    return sockets;
}

std::vector<ListeningSocket> sockets_at(std::uint16_t port) { return read_sockets(port); }

std::vector<std::uint64_t> listening_sockets(std::uint16_t port) {
    std::vector<std::uint64_t> inodes;
    for (const ListeningSocket& socket : read_sockets(port)) inodes.push_back(socket.inode);
    return inodes;
}

bool is_listening(std::uint16_t port) { return !listening_sockets(port).empty(); }

void name_owners(std::vector<ListeningSocket>& sockets) {
    if (sockets.empty()) return;
    std::vector<Process> processes = list_processes();
    std::sort(processes.begin(), processes.end(), [](const auto& a, const auto& b) { return std::tuple(a.start, a.pid) < std::tuple(b.start, b.pid); });
    for (const Process& process : processes) look_into(process, sockets);
    for (ListeningSocket& socket : sockets) {
        if (socket.pid != 0) socket.process = process_name(socket.pid);
    }
}

} // namespace sandbox::agent
