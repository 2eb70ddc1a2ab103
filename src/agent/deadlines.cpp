// SPDX-License-Identifier: Apache-2.0
#include "agent/deadlines.hpp"

#include <algorithm>

namespace sandbox::agent {

void Deadlines::end_operation(std::int64_t now) {
    if (m_operations > 0) --m_operations;
    m_idle_since = now;
}

std::int64_t Deadlines::idle_left(std::int64_t now) const {
    if (m_operations > 0 || m_idle_timeout == 0) return -1;
    return std::max<std::int64_t>(0, m_idle_since + m_idle_timeout - now);
}

std::optional<std::int64_t> Deadlines::next(bool client_waits, std::int64_t patience) const {
    std::optional<std::int64_t> due;
    if (m_ttl != 0) due = m_ttl;
    if (m_idle_timeout != 0 && m_operations == 0) {
        const std::int64_t idle = m_idle_since + m_idle_timeout + (client_waits ? patience : 0);
        due = due ? std::min(*due, idle) : idle;
    }
    return due;
}

} // namespace sandbox::agent
