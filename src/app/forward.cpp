// SPDX-License-Identifier: Apache-2.0
#include "app/forward.hpp"

#include "app/exec.hpp"
#include "app/explained.hpp"
#include "app/signal_watch.hpp"
#include "app/tcp_listener.hpp"
#include "channel/forward.hpp"

#include <list>
#include <set>

namespace sandbox::app {
namespace {

constexpr std::size_t k_max_connections = 512; // as many as one forward carries

struct Door {
    TcpListener listener;
    std::uint16_t port; // in the session
};

class Forwarding {
  public:
    Forwarding(const channel::Link& link, std::list<Door>& doors, const ForwardObserver& observer) : m_forward(link), m_doors(doors) {
        m_forward.on_cut([this, &observer](std::uint32_t, std::uint16_t port, int error) {
            if (error != 0 && m_refused.insert(port).second) observer.on_refused(port, error);
        });
        m_forward.on_answer([this](std::uint32_t, std::uint16_t port) { m_refused.erase(port); });
    }

    void turn(const SignalWatch& signals) {
        m_set.clear();
        m_set.push_back({signals.fd(), POLLIN, 0});
        for (const Door& door : m_doors) m_set.push_back({has_room() ? door.listener.fd() : -1, POLLIN, 0});
        m_forward.watch(m_set);
        if (::poll(m_set.data(), m_set.size(), m_forward.is_ready() ? 0 : -1) < 0) return;
        if (m_set[0].revents != 0) signals.check();
        m_forward.serve(m_set);
        std::size_t slot = 1;
        for (const Door& door : m_doors) {
            if (m_set[slot++].revents != 0) accept(door);
        }
        m_forward.flush();
    }

  private:
    bool has_room() const { return m_forward.has_room() && m_forward.streams() < m_most; }

    void accept(const Door& door) {
        while (has_room()) {
            Fd socket = door.listener.accept();
            if (!socket) return;
            m_forward.carry(std::move(socket), door.port);
        }
    }

    channel::Forward m_forward;
    std::list<Door>& m_doors;
    const std::size_t m_most = room_for_connections(k_max_connections, 1);
    std::set<std::uint16_t> m_refused; // ports of which it was told
    std::vector<pollfd> m_set;
};

std::list<Door> open_doors(std::vector<domain::ForwardSpec>& specs) {
    std::list<Door> doors;
    for (auto& spec : specs) {
        const std::string instead = "0:" + std::to_string(spec.port) + " takes a free port";
        doors.push_back({TcpListener(spec.address, spec.host_port, instead), spec.port});
        spec.host_port = doors.back().listener.port();
    }
    return doors;
}

} // namespace

void forward(Context& context, std::string_view session, const std::vector<domain::ForwardSpec>& specs, const ForwardObserver& observer) {
    const ExecTarget target = open_for_exec(context, session);
    std::vector<domain::ForwardSpec> bound = specs;
    std::list<Door> doors = open_doors(bound);
    explained(context, target.row, [&] {
        Forwarding forwarding(link_to(context, target.row), doors, observer);
        const SignalWatch signals;
        observer.on_ready(target.row, bound);
        for (;;) forwarding.turn(signals);
    });
    __builtin_unreachable();
}

} // namespace sandbox::app
