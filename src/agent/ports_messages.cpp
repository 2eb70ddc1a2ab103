// SPDX-License-Identifier: Apache-2.0
#include "agent/ports_messages.hpp"

#include "agent/listening.hpp"

namespace sandbox::agent {
namespace {

std::uint16_t port_field(Reader& reader) {
    const std::uint32_t port = reader.u32();
    if (port == 0 || port > UINT16_MAX) throw WireError("no such port");
    return static_cast<std::uint16_t>(port);
}

ListeningEntry entry_field(Reader& reader) {
    ListeningEntry entry;
    entry.address = reader.text();
    if (entry.address.size() != 4 && entry.address.size() != 16) throw WireError("an address of another family");
    entry.port = port_field(reader);
    entry.pid = reader.u32();
    entry.process = reader.text();
    if (entry.process.size() > k_max_process_name) throw WireError("the name of a process is too long");
    return entry;
}

} // namespace

std::string encode(const ListeningMessage& message) {
    Writer writer(FrameType::reply);
    writer.u8(static_cast<std::uint8_t>(message.state)).u32(static_cast<std::uint32_t>(message.entries.size()));
    for (const ListeningEntry& entry : message.entries) writer.text(entry.address).u32(entry.port).u32(entry.pid).text(entry.process);
    return writer.finish();
}

ListeningMessage decode_listening(std::string_view payload) {
    Reader reader(payload);
    ListeningMessage message;
    const std::uint8_t state = reader.u8();
    if (state > static_cast<std::uint8_t>(PortState::expired)) throw WireError("an unknown state of a port");
    message.state = static_cast<PortState>(state);
    const std::uint32_t count = reader.u32();
    if (count > k_max_listening) throw WireError("too many ports");
    for (std::uint32_t i = 0; i < count; ++i) message.entries.push_back(entry_field(reader));
    reader.expect_end();
    return message;
}

std::string encode_wait_port(std::uint16_t port) { return Writer(FrameType::request).u32(port).finish(); }

std::uint16_t decode_wait_port(std::string_view payload) {
    Reader reader(payload);
    const std::uint16_t port = port_field(reader);
    reader.expect_end();
    return port;
}

} // namespace sandbox::agent
