// SPDX-License-Identifier: Apache-2.0
#include "agent/process_list.hpp"

namespace sandbox::agent {

int run_process_list(WorkerConnection& connection, const ProcessTable& table) {
    for (const ProcessTable::Entry& entry : table.entries()) {
        if (entry.is_told) connection.write(encode(entry.info));
    }
    connection.write(FrameType::done, {});
    return 0;
}

} // namespace sandbox::agent
