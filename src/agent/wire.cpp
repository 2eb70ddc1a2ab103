// SPDX-License-Identifier: Apache-2.0
#include "agent/wire.hpp"

namespace sandbox::agent {
namespace {

constexpr std::size_t k_header = 4;

template <typename T> void append_little_endian(std::string& out, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 255);
}

template <typename T> T from_little_endian(std::string_view bytes) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value = static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i));
    }
    return value;
}

} // namespace

Writer::Writer(FrameType type) : m_bytes(k_header, '\0') { u8(static_cast<std::uint8_t>(type)); }

Writer& Writer::u8(std::uint8_t value) {
    m_bytes += static_cast<char>(value);
    return *this;
}

Writer& Writer::u32(std::uint32_t value) {
    append_little_endian(m_bytes, value);
    return *this;
}

Writer& Writer::u64(std::uint64_t value) {
    append_little_endian(m_bytes, value);
    return *this;
}

Writer& Writer::text(std::string_view value) {
    u32(static_cast<std::uint32_t>(value.size()));
    return raw(value);
}

Writer& Writer::raw(std::string_view bytes) {
    m_bytes += bytes;
    return *this;
}

std::string Writer::finish() {
    const std::size_t length = m_bytes.size() - k_header;
    if (length > k_max_frame) throw WireError("frame of " + std::to_string(length) + " bytes is too long");
    std::string header;
    append_little_endian(header, static_cast<std::uint32_t>(length));
    m_bytes.replace(0, k_header, header);
    return std::move(m_bytes);
}

std::string_view Reader::take(std::size_t count) {
    if (count > m_rest.size()) throw WireError("field runs past the end of its frame");
    const std::string_view field = m_rest.substr(0, count);
    m_rest.remove_prefix(count);
    return field;
}

std::uint8_t Reader::u8() { return from_little_endian<std::uint8_t>(take(1)); }
std::uint32_t Reader::u32() { return from_little_endian<std::uint32_t>(take(4)); }
std::uint64_t Reader::u64() { return from_little_endian<std::uint64_t>(take(8)); }
std::string_view Reader::text() { return take(u32()); }
std::string_view Reader::rest() { return take(m_rest.size()); }

void Reader::expect_end() const {
    if (!m_rest.empty()) throw WireError("frame has bytes past its last field");
}

std::optional<Frame> Decoder::next() {
    const std::string_view waiting = std::string_view(m_buffer).substr(m_offset);
    if (waiting.size() < k_header) return std::nullopt;
    const auto length = from_little_endian<std::uint32_t>(waiting.substr(0, k_header));
    if (length == 0 || length > m_max) throw WireError("frame length " + std::to_string(length) + " is out of range");
    if (waiting.size() < k_header + length) return std::nullopt;
    const auto type = static_cast<std::uint8_t>(waiting[k_header]);
    if (type < static_cast<std::uint8_t>(FrameType::hello) || type > static_cast<std::uint8_t>(FrameType::deadline)) {
        throw WireError("unknown frame type " + std::to_string(type));
    }
    Frame frame{static_cast<FrameType>(type), std::string(waiting.substr(k_header + 1, length - 1))};
    m_offset += k_header + length;
    // Shift what is left to the front only when it is small against what was read, so that feeding stays linear.
    if (m_offset >= m_buffer.size() / 2) {
        m_buffer.erase(0, m_offset);
        m_offset = 0;
    }
    return frame;
}

} // namespace sandbox::agent
