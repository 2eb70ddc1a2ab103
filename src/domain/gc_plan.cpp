// SPDX-License-Identifier: Apache-2.0
#include "domain/gc_plan.hpp"

#include "domain/labels.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace sandbox::domain {
namespace {

using Action = GcItem::Action;
using Why = GcItem::Why;

bool is_in_scope(const GcPolicy& policy, std::string_view owner) { return !policy.owner || *policy.owner == owner; }

// A time of 0 is unknown and a time to come is a clock we can't trust: both are "leave alone".
bool is_older_than(std::int64_t now, std::int64_t since, std::int64_t age) {
    return now > 0 && since > 0 && since <= now && now - since >= age;
}

bool is_dead(const GcSession& session) {
    if (!session.container_exists) return true;
    return !session.container_running && !session.keeps_stopped;
}

// Why an open session ends now, if it does.
std::optional<Why> end_of(const GcSession& session, const GcFacts& facts) {
    if (session.locked || !session.engine_answered) return std::nullopt;
    // A copy of a state directory has stale rows: what runs may have been extended by the machine it was copied from.
    if (!facts.on_its_machine && session.container_running) return std::nullopt;
    if (session.half_destroyed) return Why::half_destroyed;
    if (session.expires_ms > 0 && session.expires_ms <= facts.now_ms) return Why::expired;
    if (session.half_made) return Why::half_made;
    if (session.abandoned) return Why::abandoned;
    if (is_dead(session)) return Why::dead;
    return std::nullopt;
}

void plan_sessions(const GcFacts& facts, const GcPolicy& policy, std::vector<GcItem>& plan) {
    for (const auto& session : facts.sessions) {
        if (session.closed || !is_in_scope(policy, session.owner)) continue;
        const auto why = end_of(session, facts);
        if (why) plan.push_back({Action::end_session, *why, session.id, session.owner});
    }
}

// Roles that this version makes. Another one is from a version that knows better what to do with it.
bool is_known_role(const GcObject& object) {
    constexpr std::array<std::string_view, 4> k_roles{k_role_session, k_role_workspace, k_role_agent, k_role_helper};
    return std::find(k_roles.begin(), k_roles.end(), object.role) != k_roles.end();
}

// A session without a row that still has time to live: its row may be lost with the state (law 2 calls that a repair, no
// licence to delete). Its own agent ends it in time (law 9); one that is kept stopped has nobody who would, so its time must be known.
bool lives_by_itself(const GcObject& object, const GcFacts& facts) {
    if (object.kept_stopped && object.expires_ms > facts.now_ms) return true;
    return object.running && (object.expires_ms == 0 || object.expires_ms > facts.now_ms);
}

bool may_be_orphan(const GcObject& object, const GcFacts& facts, const GcPolicy& policy) {
    return facts.on_its_machine && is_in_scope(policy, object.owner) && is_known_role(object) && !object.row_open &&
           !lives_by_itself(object, facts) &&
           is_older_than(facts.engine_now_ms, object.created_ms, policy.orphan_grace_ms);
}

// Appends orphaned containers and returns the sessions that they belonged to.
std::set<std::string> plan_containers(const GcFacts& facts, const GcPolicy& policy, std::vector<GcItem>& plan) {
    std::set<std::string> sessions;
    for (const auto& object : facts.objects) {
        if (object.kind != GcObject::Kind::container || !may_be_orphan(object, facts, policy)) continue;
        plan.push_back({Action::remove_container, Why::orphan, object.id, object.owner, object.engine});
        if (!object.session.empty()) sessions.insert(object.session);
    }
    return sessions;
}

void plan_volumes(const GcFacts& facts, const GcPolicy& policy, const std::set<std::string>& ended_sessions,
                  std::vector<GcItem>& plan) {
    for (const auto& object : facts.objects) {
        if (object.kind != GcObject::Kind::volume || !may_be_orphan(object, facts, policy)) continue;
        if (!object.workspace.empty()) continue;
        if (object.role == k_role_agent) {
            if (object.current_agent || object.in_use) continue;
            plan.push_back({Action::remove_volume, Why::old_agent, object.id, object.owner, object.engine});
            continue;
        }
        // One gc is enough: a volume whose only user goes in this same plan goes with it. Should somebody else mount it
        // too, the engine refuses and the volume stays.
        if (object.in_use && !ended_sessions.contains(object.session)) continue;
        plan.push_back({Action::remove_volume, Why::orphan, object.id, object.owner, object.engine});
    }
}

bool has_labels(const GcWorkspace& workspace, const std::map<std::string, std::string>& wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
        const auto found = workspace.labels.find(label.first);
        return found != workspace.labels.end() && found->second == label.second;
    });
}

bool is_unused(const GcWorkspace& workspace, const GcFacts& facts, const GcPolicy& policy) {
    return policy.workspaces_older_than_ms && !workspace.in_use && is_older_than(facts.now_ms, workspace.last_used_ms, *policy.workspaces_older_than_ms) &&
           has_labels(workspace, policy.workspace_labels);
}

// What a create left that died before it was done with the workspace; the session that it was for goes in this same plan, or is gone.
bool is_abandoned(const GcWorkspace& workspace, const std::set<std::string>& ended_sessions) {
    return workspace.half_made && std::ranges::includes(ended_sessions, workspace.users);
}

void plan_workspaces(const GcFacts& facts, const GcPolicy& policy, std::set<std::string> ended_sessions, std::vector<GcItem>& plan) {
    // On another machine the time of last use is as stale as the rest of the copy.
    if (!facts.on_its_machine) return;
    for (const auto& item : plan) {
        if (item.action == Action::end_session) ended_sessions.insert(item.id);
    }
    for (const auto& workspace : facts.workspaces) {
        if (!is_in_scope(policy, workspace.owner)) continue;
        const bool is_half_made = is_abandoned(workspace, ended_sessions);
        if (!is_half_made && !is_unused(workspace, facts, policy)) continue;
        plan.push_back({Action::remove_workspace, is_half_made ? Why::half_made : Why::unused_workspace, workspace.id, workspace.owner});
    }
}

void plan_tombstones(const GcFacts& facts, const GcPolicy& policy, std::vector<GcItem>& plan) {
    for (const auto& session : facts.sessions) {
        if (!session.closed || session.locked || !is_in_scope(policy, session.owner)) continue;
        if (!is_older_than(facts.now_ms, session.closed_ms, policy.tombstone_ms)) continue;
        plan.push_back({Action::forget_session, Why::tombstone, session.id, session.owner});
    }
}

void plan_leftovers(const GcFacts& facts, const GcPolicy& policy, const std::set<std::string>& ended_sessions,
                    std::vector<GcItem>& plan) {
    if (policy.owner) return; // nobody knows whose a directory without a row was
    if (!facts.engines_answered) return;
    // A container whose row was lost is reached through its directory again once the row is repaired.
    std::set<std::string> alive;
    for (const auto& object : facts.objects) {
        if (object.kind == GcObject::Kind::container && !ended_sessions.contains(object.session)) alive.insert(object.session);
    }
    for (const auto& leftover : facts.leftovers) {
        if (leftover.locked || alive.contains(leftover.session) || !is_older_than(facts.now_ms, leftover.modified_ms, policy.orphan_grace_ms)) continue;
        plan.push_back({Action::remove_leftover, Why::leftover, leftover.session, {}});
    }
}

} // namespace

std::string_view gc_action_name(GcItem::Action action) {
    switch (action) {
    case Action::end_session: return "end_session";
    case Action::forget_session: return "forget_session";
    case Action::remove_container: return "remove_container";
    case Action::remove_volume: return "remove_volume";
    case Action::remove_workspace: return "remove_workspace";
    case Action::remove_leftover: return "remove_leftover";
    }
    return "unknown";
}

std::string_view gc_why_name(GcItem::Why why) {
    switch (why) {
    case Why::expired: return "expired";
    case Why::dead: return "dead";
    case Why::abandoned: return "abandoned";
    case Why::half_made: return "half_made";
    case Why::half_destroyed: return "half_destroyed";
    case Why::orphan: return "orphan";
    case Why::tombstone: return "tombstone";
    case Why::old_agent: return "old_agent";
    case Why::unused_workspace: return "unused_workspace";
    case Why::leftover: return "leftover";
    }
    return "unknown";
}

std::vector<GcItem> plan_gc(const GcFacts& facts, const GcPolicy& policy) {
    std::vector<GcItem> plan;
    plan_sessions(facts, policy, plan);
    const std::set<std::string> ended = plan_containers(facts, policy, plan);
    plan_volumes(facts, policy, ended, plan);
    plan_workspaces(facts, policy, ended, plan);
    plan_tombstones(facts, policy, plan);
    plan_leftovers(facts, policy, ended, plan);
    return plan;
}

} // namespace sandbox::domain
