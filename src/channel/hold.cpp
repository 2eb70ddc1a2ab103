// SPDX-License-Identifier: Apache-2.0
#include "channel/hold.hpp"

#include "channel/connection.hpp"

namespace sandbox::channel {

Hold::Hold(const Link& link) : m_connection(open_live_connection(link, agent::Operation::hold, {})) {
    if (read_before(m_connection, boot_now_ms() + hello_patience(link).count()).type != agent::FrameType::reply) throw broken_protocol("no reply");
}

HoldEnd Hold::ends() {
    try {
        return m_connection.read_view() ? HoldEnd::expired : HoldEnd::cut;
    } catch (const std::exception&) {
        return HoldEnd::cut;
    }
}

std::optional<HoldEnd> Hold::end_so_far() {
    try {
        do {
            if (!m_connection.fill()) return HoldEnd::cut;
            if (m_connection.buffered_view()) return HoldEnd::expired;
        } while (m_connection.stream().buffered());
        return std::nullopt;
    } catch (const std::exception&) {
        return HoldEnd::cut;
    }
}

} // namespace sandbox::channel
