// SPDX-License-Identifier: Apache-2.0
#include "agent/files_connection.hpp"

#include <poll.h>

namespace sandbox::agent {

FrameView expect_frame(WorkerConnection& connection) {
    const auto frame = connection.read_view();
    if (!frame || frame->type == FrameType::failure) throw ClientGone();
    return *frame;
}

std::string expect_payload(WorkerConnection& connection, FrameType type) {
    const FrameView frame = expect_frame(connection);
    if (frame.type != type) throw WireError("unexpected frame");
    return std::string(frame.payload);
}

void expect_client(WorkerConnection& connection) {
    pollfd end{connection.fd(), POLLIN, 0};
    if (connection.stream().buffered() || ::poll(&end, 1, 0) > 0) throw ClientGone();
}

} // namespace sandbox::agent
