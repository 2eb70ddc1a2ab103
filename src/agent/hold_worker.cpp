// SPDX-License-Identifier: Apache-2.0
#include "agent/hold_worker.hpp"

#include "agent/exec_worker.hpp"

#include <array>
#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace sandbox::agent {

int run_hold_worker(WorkerConnection& connection, int control) {
    connection.write(FrameType::reply, {});
    for (;;) {
        std::array<pollfd, 2> set{pollfd{connection.fd(), POLLIN, 0}, pollfd{control, POLLIN, 0}};
        if (::poll(set.data(), set.size(), -1) < 0 && errno != EINTR) return 1;
        if (set[1].revents != 0) {
            char message = 0;
            if (::read(control, &message, 1) == 1 && message == k_control_expired) connection.write(FrameType::reply, {});
            return 0;
        }
        // Nothing is said on this connection: whatever comes is its end.
        if (set[0].revents != 0) return 0;
    }
}

} // namespace sandbox::agent
