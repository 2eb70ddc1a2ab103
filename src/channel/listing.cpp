// SPDX-License-Identifier: Apache-2.0
#include "agent/files_messages.hpp"
#include "channel/connection.hpp"

namespace sandbox::channel {

std::vector<ListedName> list_names(const Link& link, const std::string& directory, const std::string& prefix, Milliseconds deadline) {
    const std::int64_t until = boot_now_ms() + deadline.count();
    const std::string request = agent::encode(agent::ListMessage{directory, prefix});
    agent::FramedStream connection = open_connection(link, agent::Operation::list_names, request, deadline);
    const agent::FrameView frame = read_before(connection, until);
    if (frame.type != agent::FrameType::names) throw broken_protocol("no names");
    try {
        std::vector<ListedName> names;
        for (auto& entry : agent::decode_names(frame.payload).names) names.push_back({std::move(entry.name), entry.is_directory});
        return names;
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    }
}

} // namespace sandbox::channel
