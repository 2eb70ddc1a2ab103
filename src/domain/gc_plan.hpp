// SPDX-License-Identifier: Apache-2.0
// What gc would take, as a pure function of what was seen: rows, engine objects, the time, the policy. Applying it is
// app/gc.cpp, which looks at each item once more just before it acts.
//
//   for (const GcItem& item : plan_gc(facts, policy)) std::cout << item.what << '\n';
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

// One open or closed row, joined with what its engine said about its container and what its lock says.
struct GcSession {
    std::string id;
    std::string owner;
    bool closed = false;        // destroyed or expired: a tombstone
    bool half_made = false;     // creating
    bool half_destroyed = false; // destroying or failed
    bool abandoned = false;      // it ends with the process that made it, and that is gone
    bool locked = false;        // an operation holds the session's lock right now
    bool engine_answered = false; // by the engine that made it (same id); without this nothing is known
    bool container_exists = false;
    bool container_running = false; // paused counts as running
    bool keeps_stopped = false; // lifecycle.autoDestroy is false: a stopped container is kept until its TTL
    std::int64_t created_ms = 0;
    std::int64_t expires_ms = 0; // 0: unknown, leave alone
    std::int64_t closed_ms = 0;
};

// A container or volume with our instance label.
struct GcObject {
    enum class Kind { container, volume };
    Kind kind = Kind::container;
    std::string id;       // container id or volume name
    std::string engine;   // which engine has it, opaque; copied into the item
    std::string session;  // label; may be empty
    std::string owner;
    std::string role;
    std::string workspace; // label: a persistent workspace's volume, never an orphan
    bool row_open = false; // an open row claims it
    bool in_use = false;   // volume: a container mounts it
    bool current_agent = false; // agent volume of this version
    bool running = false;       // a container that runs or is paused
    bool kept_stopped = false;  // a session's container that has stopped and was to be kept until its TTL
    std::int64_t expires_ms = 0; // its label: when the agent in it ends it; 0: unknown
    std::int64_t created_ms = 0; // by the engine's clock; 0: unknown age, leave alone
};

// A persistent workspace.
struct GcWorkspace {
    std::string owner;
    std::string id;
    std::string volume;
    bool in_use = false;
    std::int64_t last_used_ms = 0; // 0: unknown, leave alone
    std::map<std::string, std::string> labels;
    bool half_made = false; // nobody has been given it yet
    std::set<std::string> users = {}; // sessions with an open row that names it, or a container that mounts it
};

// A directory or lock file below the state directory whose session has no open row.
struct GcLeftover {
    std::string session;
    bool locked = false;
    std::int64_t modified_ms = 0;
};

struct GcFacts {
    std::int64_t now_ms = 0;        // wall
    std::int64_t engine_now_ms = 0; // the engine's clock; 0: unknown
    bool on_its_machine = true;     // false: no orphan is touched
    bool engines_answered = true;   // all of them: only then is it known which sessions have a container
    std::vector<GcSession> sessions;
    std::vector<GcObject> objects;
    std::vector<GcWorkspace> workspaces;
    std::vector<GcLeftover> leftovers;
};

struct GcPolicy {
    std::int64_t orphan_grace_ms = 10 * 60 * 1000LL; // younger orphans are left alone: their row may be on its way
    std::int64_t tombstone_ms = 7 * 24 * 3600 * 1000LL;
    std::optional<std::int64_t> workspaces_older_than_ms; // absent: retained workspaces are not touched
    std::map<std::string, std::string> workspace_labels;
    std::optional<std::string> owner; // narrows everything
};

struct GcItem {
    enum class Action { end_session, forget_session, remove_container, remove_volume, remove_workspace, remove_leftover };
    enum class Why { expired, dead, abandoned, half_made, half_destroyed, orphan, tombstone, old_agent, unused_workspace, leftover };
    Action action;
    Why why;
    std::string id;
    std::string owner;
    std::string engine = {}; // of a container or volume: the object's
};
std::string_view gc_action_name(GcItem::Action action);
std::string_view gc_why_name(GcItem::Why why);

// In the order to act: sessions, containers, volumes, workspaces, tombstones, leftovers.
std::vector<GcItem> plan_gc(const GcFacts& facts, const GcPolicy& policy);

} // namespace sandbox::domain
