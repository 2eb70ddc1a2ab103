// SPDX-License-Identifier: Apache-2.0
#include "agent/command_words.hpp"

#include "agent/messages.hpp"

#include <iterator>
#include <sys/socket.h>

namespace sandbox::agent {

std::optional<CommandWords> read_command(WorkerConnection& connection, std::size_t arguments, std::size_t environment) {
    if (arguments == 0) throw WireError("a command without a name");
    ItemCollector items(arguments + environment);
    for (;;) {
        const auto frame = connection.read_view();
        if (!frame) return std::nullopt;
        if (items.take(*frame)) break;
    }
    CommandWords words;
    const auto middle = items.items().begin() + static_cast<std::ptrdiff_t>(arguments);
    words.arguments.assign(std::make_move_iterator(items.items().begin()), std::make_move_iterator(middle));
    words.environment.assign(std::make_move_iterator(middle), std::make_move_iterator(items.items().end()));
    return words;
}

bool is_still_there(int fd) {
    char byte = 0;
    const ssize_t count = ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count != 0;
}

std::string inside_workdir(const SessionContext& session, const std::string& cwd) {
    return cwd.starts_with('/') ? cwd : session.workdir + "/" + cwd;
}

} // namespace sandbox::agent
