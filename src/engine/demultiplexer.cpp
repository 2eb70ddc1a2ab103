// SPDX-License-Identifier: Apache-2.0
#include "engine/demultiplexer.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>

namespace sandbox::engine {
namespace {

constexpr std::size_t k_max_tail = 4096;

} // namespace

void Demultiplexer::feed(std::string_view bytes, std::string& out) {
    while (!bytes.empty()) {
        if (m_header_size < m_header.size()) take_header(bytes);
        else take_payload(bytes, out);
    }
}

void Demultiplexer::take_header(std::string_view& bytes) {
    m_header[m_header_size++] = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (m_header_size < m_header.size()) return;
    const auto& h = m_header;
    if (h[0] > static_cast<unsigned char>(Source::engine_message) || h[1] != 0 || h[2] != 0 || h[3] != 0) {
        throw Error(ErrorCode::protocol_error, "unknown stream " + std::to_string(h[0]) + " in an exec's output");
    }
    m_source = static_cast<Source>(h[0]);
    m_payload_left = static_cast<std::uint32_t>(h[4]) << 24 | static_cast<std::uint32_t>(h[5]) << 16 |
                     static_cast<std::uint32_t>(h[6]) << 8 | h[7];
    if (m_payload_left == 0) m_header_size = 0;
}

void Demultiplexer::take_payload(std::string_view& bytes, std::string& out) {
    const std::string_view part = bytes.substr(0, std::min<std::size_t>(bytes.size(), m_payload_left));
    bytes.remove_prefix(part.size());
    m_payload_left -= static_cast<std::uint32_t>(part.size());
    if (m_payload_left == 0) m_header_size = 0;
    if (m_source == Source::standard_output) out += part;
    else if (m_source != Source::stdin_echo) keep_tail(part);
    if (m_source == Source::engine_message && m_payload_left == 0) {
        throw Error(ErrorCode::engine_error, "the engine ended an exec's output: " + printable(m_stderr));
    }
}

void Demultiplexer::keep_tail(std::string_view bytes) {
    m_stderr += bytes.substr(bytes.size() - std::min(bytes.size(), k_max_tail));
    if (m_stderr.size() > k_max_tail) m_stderr.erase(0, m_stderr.size() - k_max_tail);
}

void Demultiplexer::finish() const {
    if (m_header_size != 0) throw Error(ErrorCode::protocol_error, "an exec's output was cut inside a frame");
}

} // namespace sandbox::engine
