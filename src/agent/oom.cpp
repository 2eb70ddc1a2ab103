// SPDX-License-Identifier: Apache-2.0
#include "agent/oom.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace sandbox::agent {

OomCounter::OomCounter() {
    for (const char* path : {"/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"}) {
        m_file.reset(::open(path, O_RDONLY | O_CLOEXEC));
        if (m_file) return;
    }
}

std::uint64_t OomCounter::read() const {
    std::array<char, 512> text{};
    if (!m_file || ::pread(m_file.get(), text.data(), text.size() - 1, 0) <= 0) return 0;
    // Both files have lines "name value"; v1 also has oom_kill_disable, v2 oom_group_kill.
    const char* line = std::strstr(text.data(), "oom_kill ");
    return line == nullptr ? 0 : std::strtoull(line + std::strlen("oom_kill "), nullptr, 10);
}

} // namespace sandbox::agent
