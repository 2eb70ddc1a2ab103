// SPDX-License-Identifier: Apache-2.0
#include "app/greeting.hpp"

#include "app/sessions.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/random.hpp"
#include "util/text.hpp"

#include <fcntl.h>

namespace sandbox::app {
namespace {

constexpr Milliseconds k_hello_wait{1000}; // after this the bridge is tried
constexpr std::size_t k_secret_size = 32;

void keep_secret(const std::string& session_directory, const std::string& secret) {
    AtomicFile file(AT_FDCWD, session_directory + "/secret", 0600);
    write_all(file.fd(), secret);
    file.publish();
}

void require_running(engine::Client& engine, const std::string& id) {
    const auto container = engine.inspect_container(id);
    if (container && container->running) return;
    Error error(ErrorCode::failed, "the container ended as soon as it was started");
    if (container && !container->error.empty()) error.context(printable(container->error));
    throw error.hint("its image and the agent may be of different architectures; sandbox version shows the agent's");
}

} // namespace

Greeting greet_agent(Context& context, engine::Client& engine, const state::SessionRow& row, std::optional<channel::HelloListener>& listener,
                     channel::SessionSetup& setup, bool only_socket) {
    setup.secret = random_bytes(k_secret_size);
    keep_secret(context.store().session_directory(row.id), setup.secret);
    if (listener) {
        if (auto hello = listener->accept(setup, k_hello_wait)) return {*std::move(hello), state::ChannelKind::socket};
        require_running(engine, row.container_id);
        if (only_socket) {
            throw Error(ErrorCode::session_unreachable, "the agent did not come to the session's socket")
                .hint("leave --channel out: sandbox then goes through the engine");
        }
    }
    return {channel::bridge_handshake(open_bridge(engine, row.container_id), setup), state::ChannelKind::bridge};
}

} // namespace sandbox::app
