// SPDX-License-Identifier: Apache-2.0
#include "app/observe.hpp"

#include "app/deadlines.hpp"
#include "app/sessions.hpp"
#include "domain/labels.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

namespace sandbox::app {
namespace {

using state::SessionState;

constexpr Milliseconds k_agents_deadline{1000}; // for all on sockets together, for each over a bridge
constexpr std::size_t k_most_bridges_at_once = 8;

// One list call for each engine, however many sessions it has.
class Engines {
  public:
    Engines(Context& context, std::vector<std::string>& warnings) : m_context(context), m_warnings(warnings) {}

    // Absent: the engine that made the row did not answer.
    const std::map<std::string, engine::ContainerInfo>* containers_of(const state::SessionRow& row) {
        const std::pair key{row.endpoint, row.engine_id};
        if (const auto known = m_known.find(key); known != m_known.end()) {
            return known->second ? &*known->second : nullptr;
        }
        auto& slot = m_known[key];
        try {
            slot = list(m_context.engine_of(row.endpoint, row.engine_id));
        } catch (const Error& error) {
            // Unreachable, or something at its address that is no engine: the other engines' sessions are shown all the same.
            m_warnings.push_back(error.message() + "; what it runs is shown as last known");
        }
        return slot ? &*slot : nullptr;
    }

  private:
    std::map<std::string, engine::ContainerInfo> list(engine::Client& engine) const {
        engine::Filter filter;
        filter.labels = {{domain::k_label_instance, m_context.lookup().instance()},
                         {domain::k_label_role, domain::k_role_session}};
        std::map<std::string, engine::ContainerInfo> containers;
        for (auto& container : engine.list_containers(filter)) {
            const auto session = container.labels.find(domain::k_label_session);
            if (session != container.labels.end()) containers.emplace(session->second, std::move(container));
        }
        return containers;
    }

    Context& m_context;
    std::vector<std::string>& m_warnings;
    std::map<std::pair<std::string, std::string>, std::optional<std::map<std::string, engine::ContainerInfo>>> m_known;
};

std::vector<SessionView*> running_over(state::ChannelKind channel, std::vector<SessionView>& views) {
    std::vector<SessionView*> found;
    for (auto& view : views) {
        if (view.state == SessionState::running && view.row.channel == channel) found.push_back(&view);
    }
    return found;
}

void ask_over_sockets(Context& context, const std::vector<SessionView*>& views) {
    std::vector<std::string> directories;
    for (const auto* view : views) directories.push_back(context.lookup().session_directory(view->row.id));
    const auto answers = channel::status_many(directories, k_agents_deadline);
    for (std::size_t i = 0; i < views.size(); ++i) views[i]->agent = answers[i];
}

// Each takes an engine exec: several at a time, and a client for each, since a client is for one thread.
void ask_over_bridges(Context& context, const std::vector<SessionView*>& views) {
    std::vector<std::string> directories;
    std::vector<engine::Client> clients;
    for (const auto* view : views) {
        directories.push_back(context.lookup().session_directory(view->row.id));
        clients.emplace_back(context.engine_of(view->row.endpoint, view->row.engine_id).endpoint());
    }
    std::atomic<std::size_t> next = 0;
    const auto ask = [&] {
        for (std::size_t i; (i = next++) < views.size();) {
            try {
                const auto link = bridge_link(directories[i], views[i]->row, [&]() -> engine::Client& { return clients[i]; });
                views[i]->agent = channel::status(link, k_agents_deadline);
            } catch (const Error&) {
                // The container's state is known all the same; what only the agent knows stays absent.
            }
        }
    };
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < std::min(views.size(), k_most_bridges_at_once); ++i) workers.emplace_back(ask);
}

} // namespace

SessionState true_state(const state::SessionRow& row, const engine::ContainerInfo* container, std::int64_t wall_now) {
    if (row.state != SessionState::running && row.state != SessionState::stopped) return row.state;
    if (container == nullptr) {
        return row.expires_ms > 0 && row.expires_ms <= wall_now ? SessionState::expired : SessionState::lost;
    }
    if (container->paused) return SessionState::paused;
    if (container->running) return SessionState::running;
    // Nothing starts a dead one again: its removal failed, or an engine that was killed lists what it has removed already.
    return container->status == "removing" || container->status == "dead" ? SessionState::lost : SessionState::stopped;
}

std::vector<SessionView> observe(Context& context, std::vector<state::SessionRow> rows,
                                 std::vector<std::string>& warnings) {
    Engines engines(context, warnings);
    const std::int64_t now = wall_now_ms();
    std::vector<SessionView> views;
    for (auto& row : rows) {
        SessionView view;
        view.age_ms = std::max<std::int64_t>(0, now - row.created_ms);
        view.state = row.state;
        if (!state::is_closed(row.state)) {
            const auto left = time_left_ms(row);
            if (left) view.time_left_ms = std::max<std::int64_t>(0, *left);
            const auto* containers = engines.containers_of(row);
            view.engine_answered = containers != nullptr;
            if (containers != nullptr) {
                const auto found = containers->find(row.id);
                if (found != containers->end()) view.container = found->second;
                view.state = true_state(row, view.container ? &*view.container : nullptr, row.expires_ms - left.value_or(0));
            }
        }
        view.row = std::move(row);
        views.push_back(std::move(view));
    }
    ask_over_sockets(context, running_over(state::ChannelKind::socket, views));
    ask_over_bridges(context, running_over(state::ChannelKind::bridge, views));
    for (auto& view : views) {
        if (view.agent && view.agent->idle_left_ms >= 0) view.idle_left_ms = view.agent->idle_left_ms;
    }
    return views;
}

} // namespace sandbox::app
