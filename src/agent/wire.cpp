// SPDX-License-Identifier: Apache-2.0
#include "agent/wire.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sandbox::agent {
namespace {

constexpr std::size_t k_header = 4;
constexpr std::size_t k_read_size = 256 << 10;

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
bool Reader::flag() {
    const auto value = u8();
    if (value > 1) throw WireError("flag is neither 0 nor 1");
    return value == 1;
}

std::uint32_t Reader::u32() { return from_little_endian<std::uint32_t>(take(4)); }
std::uint64_t Reader::u64() { return from_little_endian<std::uint64_t>(take(8)); }
std::string_view Reader::text() { return take(u32()); }
std::string_view Reader::rest() { return take(m_rest.size()); }

void Reader::expect_end() const {
    if (!m_rest.empty()) throw WireError("frame has bytes past its last field");
}

std::string frame_header(FrameType type, std::size_t payload_size) {
    if (payload_size >= k_max_frame) throw WireError("payload of " + std::to_string(payload_size) + " bytes is too long");
    std::string header;
    append_little_endian(header, static_cast<std::uint32_t>(payload_size + 1));
    header += static_cast<char>(type);
    return header;
}

void Decoder::feed(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::span<char> room = space(bytes.size());
        const std::string_view part = bytes.substr(0, room.size());
        std::copy(part.begin(), part.end(), room.begin());
        commit(part.size());
        bytes.remove_prefix(part.size());
    }
}

std::span<char> Decoder::space(std::size_t wanted) {
    wanted = std::max<std::size_t>(wanted, 1);
    if (m_begin == m_end) m_begin = m_end = 0;
    // Half of what is wanted is room enough: moving a part of a frame to the front for every read would cost more.
    if (m_capacity - m_end < (wanted + 1) / 2) make_room(wanted);
    return {m_buffer.get() + m_end, std::min(m_capacity - m_end, wanted)};
}

void Decoder::make_room(std::size_t wanted) {
    const std::size_t held = m_end - m_begin;
    if (m_capacity - held >= (wanted + 1) / 2) {
        std::memmove(m_buffer.get(), m_buffer.get() + m_begin, held);
    } else {
        m_capacity = std::max(2 * held, held + wanted);
        auto bigger = std::make_unique_for_overwrite<char[]>(m_capacity);
        std::copy_n(m_buffer.get() + m_begin, held, bigger.get());
        if (m_buffer) ::explicit_bzero(m_buffer.get(), m_end);
        m_buffer = std::move(bigger);
    }
    m_begin = 0;
    m_end = held;
}

std::optional<FrameView> Decoder::next_view() {
    const std::string_view bytes = waiting();
    if (bytes.size() < k_header) return std::nullopt;
    const auto length = from_little_endian<std::uint32_t>(bytes.substr(0, k_header));
    if (length == 0 || length > m_max) throw WireError("frame length " + std::to_string(length) + " is out of range");
    if (bytes.size() < k_header + length) return std::nullopt;
    const auto type = static_cast<std::uint8_t>(bytes[k_header]);
    if (type < static_cast<std::uint8_t>(FrameType::hello) || type > static_cast<std::uint8_t>(k_last_frame_type)) {
        throw WireError("unknown frame type " + std::to_string(type));
    }
    m_begin += k_header + length;
    return FrameView{static_cast<FrameType>(type), bytes.substr(k_header + 1, length - 1)};
}

std::optional<Frame> Decoder::next() {
    const auto view = next_view();
    if (!view) return std::nullopt;
    return Frame{view->type, std::string(view->payload)};
}

void Decoder::wipe_taken() { ::explicit_bzero(m_buffer.get(), m_begin); }

FramedStream::FramedStream(std::unique_ptr<Stream> stream, std::string_view already_read) : m_stream(std::move(stream)) {
    m_decoder.feed(already_read);
}

bool FramedStream::fill() {
    const std::size_t count = m_stream->read(m_decoder.space(k_read_size));
    if (count == 0 && !m_decoder.is_between_frames()) throw CutStream();
    m_decoder.commit(count);
    return count > 0;
}

std::optional<FrameView> FramedStream::read_view() {
    for (;;) {
        if (const auto frame = m_decoder.next_view()) return frame;
        if (!fill()) return std::nullopt;
    }
}

std::optional<Frame> FramedStream::read_frame() {
    const auto view = read_view();
    if (!view) return std::nullopt;
    return Frame{view->type, std::string(view->payload)};
}

void FramedStream::write(FrameType type, std::string_view payload) {
    m_stream->write(frame_header(type, payload.size()));
    m_stream->write(payload);
}

} // namespace sandbox::agent
