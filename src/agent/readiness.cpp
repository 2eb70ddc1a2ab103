// SPDX-License-Identifier: Apache-2.0
#include "agent/readiness.hpp"

#include "agent/listening.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <memory>
#include <unistd.h>

namespace sandbox::agent {
namespace {

enum class Holds { no, yes, unknown };

// "socket:[12345]" behind one of the process's descriptors.
Holds holds_one_of(const Process& process, const std::vector<std::uint64_t>& sockets) {
    const std::string path = "/proc/" + std::to_string(process.pid) + "/fd";
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
    // One that has ended meanwhile holds nothing; only of one that is there and hides its descriptors nothing is known.
    if (!directory) return errno == EACCES && is_there(process) ? Holds::unknown : Holds::no;
    constexpr std::string_view k_mark = "socket:[";
    while (const dirent* entry = ::readdir(directory.get())) {
        std::array<char, 64> target{};
        const ssize_t size = ::readlinkat(::dirfd(directory.get()), entry->d_name, target.data(), target.size() - 1);
        if (size < 0 || !std::string_view(target.data()).starts_with(k_mark)) continue;
        const std::uint64_t inode = std::strtoull(target.data() + k_mark.size(), nullptr, 10);
        if (std::find(sockets.begin(), sockets.end(), inode) != sockets.end()) return Holds::yes;
    }
    return Holds::no;
}

} // namespace

void Readiness::start_over() {
    m_port_seen = m_port == 0;
    m_text_seen = m_text.empty();
    m_ends = {};
}

void Readiness::take(LogStream stream, std::string_view bytes) {
    if (m_text_seen) return;
    std::string& end = m_ends[stream == LogStream::err ? 1 : 0];
    // Only what spans the border needs to be put together.
    std::string border = end;
    border += bytes.substr(0, m_text.size() - 1);
    m_text_seen = border.find(m_text) != std::string::npos || bytes.find(m_text) != std::string_view::npos;
    const std::size_t kept = m_text.size() - 1;
    if (bytes.size() < kept) end += bytes;
    else end = bytes.substr(bytes.size() - kept);
    if (end.size() > kept) end.erase(0, end.size() - kept);
}

void Readiness::look_at_port(const std::vector<Process>& own) {
    if (m_port_seen) return;
    const std::vector<std::uint64_t> sockets = listening_sockets(m_port);
    if (sockets.empty()) return;
    bool is_unknown = false;
    for (const Process& process : own) {
        const Holds holds = holds_one_of(process, sockets);
        if (holds == Holds::yes) m_port_seen = true;
        if (holds == Holds::unknown) is_unknown = true;
    }
    if (is_unknown) m_port_seen = true;
}

} // namespace sandbox::agent
