// SPDX-License-Identifier: Apache-2.0
#include "app/gc_facts.hpp"

#include "app/agent_volume.hpp"
#include "app/deadlines.hpp"
#include "app/presence.hpp"
#include "app/sessions.hpp"
#include "domain/labels.hpp"
#include "domain/manifest.hpp"
#include "domain/names.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace sandbox::app {
namespace {

using domain::GcFacts;
using domain::GcObject;
using domain::GcSession;
using domain::label;
using state::SessionRow;
using state::SessionState;

// Everything with our label on one engine.
struct Inventory {
    std::vector<engine::ContainerInfo> containers;
    std::vector<engine::VolumeInfo> volumes;
    std::set<std::string> kept_stopped; // ids of containers without an open row
    std::string agent_volume;
    std::int64_t clock_ahead_ms = 0; // the engine's clock against ours
};

Inventory take_inventory(Context& context, engine::Client& engine) {
    const auto info = engine.info();
    const std::int64_t now = wall_now_ms();
    engine::Filter filter;
    filter.labels = {{domain::k_label_instance, context.store().instance()}};
    Inventory inventory{engine.list_containers(filter), engine.list_volumes(filter), {}, {}, 0};
    inventory.clock_ahead_ms = parse_rfc3339(info.system_time).value_or(now) - now;
    try {
        inventory.agent_volume = agent_volume_name(info.architecture);
    } catch (const Error&) {
        // No agent for this architecture: then none of its agent volumes is a current one.
    }
    return inventory;
}

// A manifest that cannot be read any more must not stop the clean-up of everything else: its session is kept until its TTL.
bool keeps_stopped(const SessionRow& row) {
    try {
        return !domain::from_canonical_json(row.manifest_json).lifecycle.auto_destroy;
    } catch (const Error&) {
        return true;
    }
}

using EngineKey = std::pair<std::string, std::string>; // endpoint, engine id

class Gatherer {
  public:
    Gatherer(Context& context, std::vector<std::string>& warnings)
        : m_context(context), m_store(context.store()), m_warnings(warnings) {}

    GcFacts gather() {
        m_facts.now_ms = wall_now_ms();
        m_facts.on_its_machine = m_store.is_on_its_machine();
        m_rows = m_store.list({.owner = std::nullopt, .labels = {}, .include_closed = true});
        m_workspaces = m_store.list_workspaces(std::nullopt);
        visit_engines();
        for (const auto& row : m_rows) add_session(row);
        for (const auto& workspace : m_workspaces) add_workspace(workspace);
        add_leftovers();
        return std::move(m_facts);
    }

  private:
    void visit_engines();
    void visit(const EngineKey& key, engine::Client& engine);
    void add_session(const SessionRow& row);
    void add_workspace(const state::WorkspaceRow& workspace);
    void add_objects(const EngineKey& key, const Inventory& inventory);
    void add_leftovers();
    bool is_open(const std::string& session) const;
    bool is_stopped_orphan(const engine::ContainerInfo& container) const;
    bool is_lost_and_overdue(const GcObject& object, const engine::ContainerInfo& container) const;
    std::int64_t end_of_lost(const EngineKey& key, const GcObject& object) const;
    bool is_kept(engine::Client& engine, const engine::ContainerInfo& listed);

    Context& m_context;
    state::Store& m_store;
    std::vector<std::string>& m_warnings;
    GcFacts m_facts;
    std::vector<SessionRow> m_rows;
    std::vector<state::WorkspaceRow> m_workspaces;
    std::map<EngineKey, std::optional<Inventory>> m_engines;
};

bool Gatherer::is_open(const std::string& session) const {
    for (const auto& row : m_rows) {
        if (row.id == session) return !state::is_closed(row.state);
    }
    return false;
}

void Gatherer::visit(const EngineKey& key, engine::Client& engine) {
    auto [slot, is_new] = m_engines.try_emplace(key);
    if (!is_new) return;
    slot->second = take_inventory(m_context, engine);
    for (const auto& container : slot->second->containers) {
        if (is_stopped_orphan(container) && is_kept(engine, container)) slot->second->kept_stopped.insert(container.id);
    }
    add_objects(key, *slot->second);
}

bool Gatherer::is_stopped_orphan(const engine::ContainerInfo& container) const {
    const bool is_session = label(container.labels, domain::k_label_role) == domain::k_role_session;
    return is_session && !container.running && !is_open(label(container.labels, domain::k_label_session));
}

// Only an inspect tells. One that the engine cannot tell of is left alone, and keeps nobody from the others.
bool Gatherer::is_kept(engine::Client& engine, const engine::ContainerInfo& listed) {
    try {
        const auto now = engine.inspect_container(listed.id);
        return now && is_kept_stopped(*now);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::engine_unreachable || error.signal() != 0) throw;
        m_warnings.push_back("container " + printable(listed.name) + " is left alone: " + error.message());
        return true;
    }
}

// Without a row only the agent knows whether the end was moved that the label tells.
bool Gatherer::is_lost_and_overdue(const GcObject& object, const engine::ContainerInfo& container) const {
    const bool may_answer = container.running && !container.paused && domain::is_session_id(object.session);
    return may_answer && !object.row_open && object.role == domain::k_role_session && object.expires_ms > 0 && object.expires_ms <= m_facts.now_ms;
}

// Either way may be its. Where the session's directory is lost as well, nobody can ask.
std::int64_t Gatherer::end_of_lost(const EngineKey& key, const GcObject& object) const {
    const std::string directory = m_store.session_directory(object.session);
    SessionRow row;
    row.container_id = object.id;
    auto end = end_by_agent(channel::socket_link(directory));
    if (!end) end = end_by_agent(bridge_link(directory, row, [&]() -> engine::Client& { return m_context.engine_of(key.first, key.second); }));
    return end.value_or(object.expires_ms);
}

// Every engine that a row names, and the current one, which may hold objects whose rows are gone.
void Gatherer::visit_engines() {
    std::set<EngineKey> keys;
    for (const auto& row : m_rows) {
        if (!state::is_closed(row.state)) keys.emplace(row.endpoint, row.engine_id);
    }
    for (const auto& workspace : m_workspaces) keys.emplace(workspace.endpoint, workspace.engine_id);
    for (const auto& key : keys) {
        try {
            visit(key, m_context.engine_of(key.first, key.second));
        } catch (const Error& error) {
            m_warnings.push_back(error.message() + "; its sessions are left alone");
            m_facts.engines_answered = false;
            m_engines.try_emplace(key);
        }
    }
    try {
        auto& engine = m_context.engine();
        visit({engine.endpoint().url, engine.id()}, engine);
    } catch (const Error& error) {
        m_warnings.push_back(error.message());
        m_facts.engines_answered = false;
    }
    // The ages of objects are by their engine's clock: add_objects() moves them to ours.
    m_facts.engine_now_ms = m_facts.now_ms;
}

void Gatherer::add_session(const SessionRow& row) {
    GcSession session;
    session.id = row.id;
    session.owner = row.owner;
    session.closed = state::is_closed(row.state);
    session.closed_ms = row.closed_ms;
    session.created_ms = row.created_ms;
    // Of this boot, the end is kept on the clock that nobody steps: by the wall clock as it is now it may be at another time than the row says.
    if (const auto left = time_left_ms(row)) session.expires_ms = std::max<std::int64_t>(1, m_facts.now_ms + *left);
    if (!session.closed) {
        session.half_made = row.state == SessionState::creating;
        session.half_destroyed = row.state == SessionState::destroying || row.state == SessionState::failed;
        session.locked = m_store.is_session_locked(row.id);
        session.abandoned = is_abandoned(m_store, row.id);
        session.keeps_stopped = keeps_stopped(row);
        const auto& inventory = m_engines[{row.endpoint, row.engine_id}];
        session.engine_answered = inventory.has_value();
        for (const auto& container : inventory ? inventory->containers : std::vector<engine::ContainerInfo>{}) {
            if (label(container.labels, domain::k_label_session) != row.id ||
                label(container.labels, domain::k_label_role) != domain::k_role_session) {
                continue;
            }
            session.container_exists = true;
            session.container_running = container.running || container.paused;
        }
    }
    m_facts.sessions.push_back(std::move(session));
}

void Gatherer::add_objects(const EngineKey& key, const Inventory& inventory) {
    std::set<std::string> mounted;
    for (const auto& container : inventory.containers) {
        for (const auto& mount : container.mounts) mounted.insert(mount.name);
    }
    const auto object_of = [&](GcObject::Kind kind, const std::string& id, const engine::Labels& labels,
                               const std::string& created) {
        GcObject object;
        object.kind = kind;
        object.id = id;
        object.engine = key.first + " " + key.second;
        object.session = label(labels, domain::k_label_session);
        object.owner = label(labels, domain::k_label_owner);
        object.role = label(labels, domain::k_label_role);
        object.workspace = label(labels, domain::k_label_workspace);
        object.row_open = is_open(object.session);
        object.created_ms = parse_rfc3339(created).value_or(0);
        if (object.created_ms > 0) object.created_ms -= inventory.clock_ahead_ms;
        object.expires_ms = parse_rfc3339(label(labels, domain::k_label_expires)).value_or(0);
        return object;
    };
    for (const auto& container : inventory.containers) {
        auto object = object_of(GcObject::Kind::container, container.id, container.labels, container.created_at);
        object.running = container.running || container.paused;
        object.kept_stopped = inventory.kept_stopped.contains(container.id);
        if (is_lost_and_overdue(object, container)) object.expires_ms = end_of_lost(key, object);
        m_facts.objects.push_back(std::move(object));
    }
    for (const auto& volume : inventory.volumes) {
        auto object = object_of(GcObject::Kind::volume, volume.name, volume.labels, volume.created_at);
        object.in_use = mounted.contains(volume.name);
        object.current_agent = volume.name == inventory.agent_volume;
        m_facts.objects.push_back(std::move(object));
    }
}

void Gatherer::add_workspace(const state::WorkspaceRow& workspace) {
    const auto& inventory = m_engines[{workspace.endpoint, workspace.engine_id}];
    if (!inventory) return; // its engine did not answer: nothing is known
    domain::GcWorkspace fact;
    fact.owner = workspace.owner;
    fact.id = workspace.id;
    fact.volume = workspace.volume;
    fact.last_used_ms = workspace.last_used_ms;
    fact.labels = workspace.labels;
    fact.half_made = !workspace.confirmed;
    for (const auto& row : m_rows) {
        if (!state::is_closed(row.state) && row.owner == workspace.owner && row.workspace_id == workspace.id) fact.users.insert(row.id);
    }
    for (const auto& container : inventory->containers) {
        if (std::ranges::find(container.mounts, workspace.volume, &engine::MountInfo::name) == container.mounts.end()) continue;
        fact.in_use = true;
        fact.users.insert(label(container.labels, domain::k_label_session));
    }
    m_facts.workspaces.push_back(std::move(fact));
}

void Gatherer::add_leftovers() {
    for (const auto& leftover : m_store.leftovers()) {
        m_facts.leftovers.push_back({leftover.session, leftover.locked, leftover.modified_ms});
    }
}

} // namespace

GcFacts gather_gc_facts(Context& context, std::vector<std::string>& warnings) {
    return Gatherer(context, warnings).gather();
}

} // namespace sandbox::app
