// SPDX-License-Identifier: Apache-2.0
#include "app/observe.hpp"

#include "app/sessions.hpp"
#include "domain/labels.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace sandbox::app {
namespace {

using state::SessionState;

constexpr Milliseconds k_agents_deadline{1000}; // for all agents together

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

void ask_agents(Context& context, std::vector<SessionView>& views) {
    std::vector<std::string> directories;
    std::vector<SessionView*> asked;
    for (auto& view : views) {
        if (view.state != SessionState::running || view.row.channel != state::ChannelKind::socket) continue;
        directories.push_back(context.lookup().session_directory(view.row.id));
        asked.push_back(&view);
    }
    const auto answers = channel::status_many(directories, k_agents_deadline);
    for (std::size_t i = 0; i < asked.size(); ++i) asked[i]->agent = answers[i];
    for (auto& view : views) {
        if (view.state != SessionState::running || view.row.channel != state::ChannelKind::bridge) continue;
        try {
            view.agent = channel::status(link_to(context, view.row), k_agents_deadline);
        } catch (const Error&) {
            // The container's state is known all the same; what only the agent knows stays absent.
        }
    }
}

} // namespace

SessionState true_state(const state::SessionRow& row, const engine::ContainerInfo* container, std::int64_t wall_now) {
    if (row.state != SessionState::running && row.state != SessionState::stopped) return row.state;
    if (container == nullptr) {
        return row.expires_ms > 0 && row.expires_ms <= wall_now ? SessionState::expired : SessionState::lost;
    }
    if (container->paused) return SessionState::paused;
    if (container->running) return SessionState::running;
    return container->status == "removing" ? SessionState::lost : SessionState::stopped;
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
            if (row.expires_ms > 0) view.time_left_ms = std::max<std::int64_t>(0, row.expires_ms - now);
            const auto* containers = engines.containers_of(row);
            view.engine_answered = containers != nullptr;
            if (containers != nullptr) {
                const auto found = containers->find(row.id);
                if (found != containers->end()) view.container = found->second;
                view.state = true_state(row, view.container ? &*view.container : nullptr, now);
            }
        }
        view.row = std::move(row);
        views.push_back(std::move(view));
    }
    ask_agents(context, views);
    for (auto& view : views) {
        if (view.agent && view.agent->idle_left_ms >= 0) view.idle_left_ms = view.agent->idle_left_ms;
    }
    return views;
}

} // namespace sandbox::app
