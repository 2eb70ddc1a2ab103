// SPDX-License-Identifier: Apache-2.0
#include "app/preview.hpp"

#include "app/exec.hpp"
#include "app/explained.hpp"
#include "app/ports.hpp"
#include "app/preview_exchange.hpp"
#include "app/signal_watch.hpp"
#include "app/tcp_listener.hpp"
#include "channel/forward.hpp"
#include "util/poll_time.hpp"
#include "util/random.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>

namespace sandbox::app {
namespace {

constexpr std::size_t k_token_size = 32;
constexpr std::size_t k_max_connections = 256;
constexpr std::size_t k_files_each = 3; // the browser's, and both ends of the way to the server

class Preview {
  public:
    Preview(const channel::Link& link, const TcpListener& listener, Gate gate, std::uint16_t port, PreviewExchange::NoServer no_server)
        : m_forward(link), m_listener(listener), m_gate(std::move(gate)), m_port(port), m_no_server(std::move(no_server)) {
        m_forward.on_cut([this](std::uint32_t stream, std::uint16_t, int error) {
            for (auto& exchange : m_exchanges) {
                if (exchange.stream() == stream) exchange.cut(error);
            }
        });
    }

    void turn(const SignalWatch& signals) {
        m_set.clear();
        m_set.push_back({signals.fd(), POLLIN, 0});
        m_set.push_back({has_room() ? m_listener.fd() : -1, POLLIN, 0});
        m_forward.watch(m_set);
        for (auto& exchange : m_exchanges) exchange.watch(m_set);
        if (::poll(m_set.data(), m_set.size(), timeout()) < 0) return;
        if (m_set[0].revents != 0) signals.check();
        // The exchanges first: what an answer has said must not be lost to the news that its stream was cut.
        for (auto& exchange : m_exchanges) exchange.serve(m_set);
        m_forward.serve(m_set);
        drop_finished();
        if (m_set[1].revents != 0) accept();
        m_forward.flush();
    }

  private:
    bool has_room() const { return m_exchanges.size() < m_most && m_forward.has_room(); }

    int timeout() {
        if (m_forward.is_ready()) return 0;
        int left = -1;
        for (const auto& exchange : m_exchanges) {
            if (!exchange.deadline()) continue;
            const int its = poll_time_until(*exchange.deadline());
            left = left < 0 ? its : std::min(left, its);
        }
        return left;
    }

    void accept() {
        while (has_room()) {
            Fd socket = m_listener.accept();
            if (!socket) return;
            m_exchanges.emplace_back(std::move(socket), m_gate, [this](Fd inner) { return m_forward.carry(std::move(inner), m_port); }, m_no_server);
        }
    }

    void drop_finished() {
        const std::int64_t now = boot_now_ms();
        m_exchanges.remove_if([now](const PreviewExchange& exchange) { return exchange.is_over() || (exchange.deadline() && *exchange.deadline() <= now); });
    }

    channel::Forward m_forward;
    const TcpListener& m_listener;
    Gate m_gate;
    std::uint16_t m_port;
    PreviewExchange::NoServer m_no_server;
    const std::size_t m_most = room_for_connections(k_max_connections, k_files_each);
    std::list<PreviewExchange> m_exchanges;
    std::vector<pollfd> m_set;
};

std::string not_reached(std::string_view session, std::uint16_t port, int error) {
    const std::string number = std::to_string(port);
    if (error != ECONNREFUSED) return "Port " + number + " of the session cannot be reached: " + std::strerror(error) + ".";
    return "Nothing listens on port " + number + " of the session. sandbox wait-port " + printable(session) + " " + number +
           " waits until something does, and sandbox ports " + printable(session) + " shows who listens.";
}

} // namespace

void preview(Context& context, std::string_view session, const PreviewOptions& options, const std::function<void(const PreviewReady&)>& on_ready) {
    const ExecTarget target = open_for_exec(context, session);
    if (options.wait) wait_for_port(context, target.row, options.port, *options.wait, "--wait");
    const TcpListener listener(options.address, options.host_port, "without --listen a free port is taken");
    const Gate gate{random_hex(k_token_size), listener.port()};
    explained(context, target.row, [&] {
        Preview served(link_to(context, target.row), listener, gate, options.port,
                       [&](int error) { return not_reached(session, options.port, error); });
        const SignalWatch signals;
        on_ready({target.row.id, preview_url(listener.address(), gate), listener.address(), listener.port()});
        for (;;) served.turn(signals);
    });
    __builtin_unreachable();
}

} // namespace sandbox::app
