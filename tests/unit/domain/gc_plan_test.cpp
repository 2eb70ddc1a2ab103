// SPDX-License-Identifier: Apache-2.0
// Each case starts from facts of which gc takes nothing and changes one thing.
#include "domain/gc_plan.hpp"

#include "domain/labels.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace sandbox::domain;

namespace {

constexpr std::int64_t k_minute = 60'000;
constexpr std::int64_t k_day = 24 * 60 * k_minute;
constexpr std::int64_t k_now = 1'700'000'000'000;

GcSession healthy(const std::string& id) {
    GcSession session;
    session.id = id;
    session.owner = "uid:0";
    session.engine_answered = true;
    session.container_exists = true;
    session.container_running = true;
    session.created_ms = k_now - 30 * k_minute;
    session.expires_ms = k_now + 30 * k_minute;
    return session;
}

GcObject stray(GcObject::Kind kind, const std::string& id) {
    GcObject object;
    object.kind = kind;
    object.id = id;
    object.session = "sgone";
    object.owner = "uid:0";
    object.role = kind == GcObject::Kind::container ? k_role_session : k_role_workspace;
    object.created_ms = k_now - 30 * k_minute;
    return object;
}

GcFacts at_rest() {
    GcFacts facts;
    facts.now_ms = k_now;
    facts.engine_now_ms = k_now;
    return facts;
}

// "end_session expired s1, ..." in the plan's order.
std::string told(const GcFacts& facts, const GcPolicy& policy = {}) {
    std::string text;
    for (const auto& item : plan_gc(facts, policy)) {
        if (!text.empty()) text += ", ";
        text += std::string(gc_action_name(item.action)) + " " + std::string(gc_why_name(item.why)) + " " + item.id;
    }
    return text;
}

std::string told_of(const std::function<void(GcSession&)>& change, const GcPolicy& policy = {}) {
    GcFacts facts = at_rest();
    facts.sessions.push_back(healthy("s1"));
    change(facts.sessions.back());
    return told(facts, policy);
}

std::string told_of(GcObject::Kind kind, const std::function<void(GcObject&)>& change, const GcPolicy& policy = {}) {
    GcFacts facts = at_rest();
    facts.objects.push_back(stray(kind, "o1"));
    change(facts.objects.back());
    return told(facts, policy);
}

GcPolicy only_owner(const std::string& owner) {
    GcPolicy policy;
    policy.owner = owner;
    return policy;
}

} // namespace

TEST_CASE("gc: sessions, one fact at a time") {
    struct Row {
        const char* what;
        std::function<void(GcSession&)> change;
        std::string expected;
    };
    const std::vector<Row> rows{
        {"healthy", [](GcSession&) {}, ""},
        {"TTL ends now", [](GcSession& s) { s.expires_ms = k_now; }, "end_session expired s1"},
        {"TTL ended long ago", [](GcSession& s) { s.expires_ms = 1; }, "end_session expired s1"},
        {"TTL ends in a millisecond", [](GcSession& s) { s.expires_ms = k_now + 1; }, ""},
        {"TTL unknown", [](GcSession& s) { s.expires_ms = 0; }, ""},
        {"expired, but an operation is on it", [](GcSession& s) { s.expires_ms = 1, s.locked = true; }, ""},
        {"expired, engine mute", [](GcSession& s) { s.expires_ms = 1, s.engine_answered = false; }, ""},
        {"container gone", [](GcSession& s) { s.container_exists = s.container_running = false; }, "end_session dead s1"},
        {"no container, engine mute",
         [](GcSession& s) { s.container_exists = s.container_running = s.engine_answered = false; }, ""},
        {"container gone, locked", [](GcSession& s) { s.container_exists = s.container_running = false, s.locked = true; }, ""},
        {"container stopped", [](GcSession& s) { s.container_running = false; }, "end_session dead s1"},
        {"stopped and kept", [](GcSession& s) { s.container_running = false, s.keeps_stopped = true; }, ""},
        {"stopped and kept, TTL over", [](GcSession& s) { s.container_running = false, s.keeps_stopped = true, s.expires_ms = k_now; },
         "end_session expired s1"},
        {"kept but gone", [](GcSession& s) { s.container_exists = s.container_running = false, s.keeps_stopped = true; },
         "end_session dead s1"},
        {"being made", [](GcSession& s) { s.half_made = s.locked = true; s.container_exists = s.container_running = false; }, ""},
        {"its maker died", [](GcSession& s) { s.half_made = true; s.container_exists = s.container_running = false; },
         "end_session half_made s1"},
        {"its maker died after the start", [](GcSession& s) { s.half_made = true; }, "end_session half_made s1"},
        {"its maker died, engine mute", [](GcSession& s) { s.half_made = true, s.engine_answered = false; }, ""},
        {"its creator died", [](GcSession& s) { s.abandoned = true; }, "end_session abandoned s1"},
        {"its creator died, and its container with it", [](GcSession& s) { s.abandoned = true, s.container_exists = false; }, "end_session abandoned s1"},
        {"its creator died, and somebody ends it", [](GcSession& s) { s.abandoned = s.locked = true; }, ""},
        {"being destroyed", [](GcSession& s) { s.half_destroyed = s.locked = true; }, ""},
        {"its destroyer died", [](GcSession& s) { s.half_destroyed = true; }, "end_session half_destroyed s1"},
        {"half destroyed and expired", [](GcSession& s) { s.half_destroyed = true, s.expires_ms = 1; }, "end_session half_destroyed s1"},
        {"half destroyed, engine mute", [](GcSession& s) { s.half_destroyed = true, s.engine_answered = false; }, ""},
        {"half made and expired", [](GcSession& s) { s.half_made = true, s.expires_ms = 1; }, "end_session expired s1"},
        {"tombstone of yesterday", [](GcSession& s) { s.closed = true, s.closed_ms = k_now - k_day; }, ""},
        {"tombstone of 7 days", [](GcSession& s) { s.closed = true, s.closed_ms = k_now - 7 * k_day; }, "forget_session tombstone s1"},
        {"tombstone a millisecond short", [](GcSession& s) { s.closed = true, s.closed_ms = k_now - 7 * k_day + 1; }, ""},
        {"tombstone without a date", [](GcSession& s) { s.closed = true, s.closed_ms = 0; }, ""},
        {"tombstone from the future", [](GcSession& s) { s.closed = true, s.closed_ms = k_now + 9 * k_day; }, ""},
        {"old tombstone needs no engine",
         [](GcSession& s) { s.closed = true, s.closed_ms = 1, s.engine_answered = s.container_exists = false; },
         "forget_session tombstone s1"},
        {"old tombstone in use", [](GcSession& s) { s.closed = true, s.closed_ms = 1, s.locked = true; }, ""},
        {"closed is never ended again",
         [](GcSession& s) { s.closed = true, s.closed_ms = k_now, s.expires_ms = 1, s.container_exists = s.container_running = false; },
         ""},
    };
    for (const auto& row : rows) {
        CAPTURE(row.what);
        CHECK(told_of(row.change) == row.expected);
    }
}

TEST_CASE("gc: orphaned containers") {
    struct Row {
        const char* what;
        std::function<void(GcObject&)> change;
        bool taken;
    };
    const std::vector<Row> rows{
        {"no row", [](GcObject&) {}, true},
        {"an open row", [](GcObject& o) { o.row_open = true; }, false},
        {"age of exactly the grace", [](GcObject& o) { o.created_ms = k_now - 10 * k_minute; }, true},
        {"a millisecond younger", [](GcObject& o) { o.created_ms = k_now - 10 * k_minute + 1; }, false},
        {"unknown age", [](GcObject& o) { o.created_ms = 0; }, false},
        {"from the future", [](GcObject& o) { o.created_ms = k_now + k_day; }, false},
        {"helper", [](GcObject& o) { o.role = k_role_helper; }, true},
        {"helper that fills an agent volume", [](GcObject& o) { o.role = k_role_agent, o.current_agent = true; }, true},
        {"session of a persistent workspace", [](GcObject& o) { o.workspace = "project-42"; }, true},
        {"role of a later version", [](GcObject& o) { o.role = "snapshot"; }, false},
        {"no role", [](GcObject& o) { o.role = ""; }, false},
        {"no session label", [](GcObject& o) { o.session = ""; }, true},
        {"running, with time left", [](GcObject& o) { o.running = true, o.expires_ms = k_now + 1; }, false},
        {"running, for nobody knows how long", [](GcObject& o) { o.running = true; }, false},
        {"running past its time", [](GcObject& o) { o.running = true, o.expires_ms = k_now; }, true},
        {"ended, with time left", [](GcObject& o) { o.expires_ms = k_now + k_day; }, true},
        {"kept stopped, with time left", [](GcObject& o) { o.kept_stopped = true, o.expires_ms = k_now + 1; }, false},
        {"kept stopped past its time", [](GcObject& o) { o.kept_stopped = true, o.expires_ms = k_now; }, true},
        {"kept stopped, for nobody knows how long", [](GcObject& o) { o.kept_stopped = true; }, true},
    };
    for (const auto& row : rows) {
        CAPTURE(row.what);
        CHECK(told_of(GcObject::Kind::container, row.change) == (row.taken ? "remove_container orphan o1" : ""));
    }
}

TEST_CASE("gc: orphaned volumes") {
    struct Row {
        const char* what;
        std::function<void(GcObject&)> change;
        std::string expected;
    };
    const std::string orphan = "remove_volume orphan o1";
    const std::vector<Row> rows{
        {"no row", [](GcObject&) {}, orphan},
        {"an open row", [](GcObject& o) { o.row_open = true; }, ""},
        {"mounted", [](GcObject& o) { o.in_use = true; }, ""},
        {"young", [](GcObject& o) { o.created_ms = k_now; }, ""},
        {"unknown age", [](GcObject& o) { o.created_ms = 0; }, ""},
        {"persistent workspace", [](GcObject& o) { o.workspace = "project-42"; }, ""},
        {"role of a later version", [](GcObject& o) { o.role = "snapshot"; }, ""},
        {"no role", [](GcObject& o) { o.role = ""; }, ""},
        {"agent of this version", [](GcObject& o) { o.role = k_role_agent, o.current_agent = true; }, ""},
        {"agent of an old version", [](GcObject& o) { o.role = k_role_agent; }, "remove_volume old_agent o1"},
        {"old agent, mounted", [](GcObject& o) { o.role = k_role_agent, o.in_use = true; }, ""},
        {"old agent, young", [](GcObject& o) { o.role = k_role_agent, o.created_ms = k_now; }, ""},
    };
    for (const auto& row : rows) {
        CAPTURE(row.what);
        CHECK(told_of(GcObject::Kind::volume, row.change) == row.expected);
    }
}

TEST_CASE("gc: a mounted volume goes with the orphaned container that mounts it") {
    GcFacts facts = at_rest();
    facts.objects = {stray(GcObject::Kind::volume, "v1"), stray(GcObject::Kind::container, "c1")};
    facts.objects[0].in_use = true;
    CHECK(told(facts) == "remove_container orphan c1, remove_volume orphan v1");

    SUBCASE("not when that container stays") {
        facts.objects[1].row_open = true;
        CHECK(told(facts).empty());
    }
    SUBCASE("not when the container is of another session") {
        facts.objects[1].session = "sother";
        CHECK(told(facts) == "remove_container orphan c1");
    }
    SUBCASE("two empty session labels are not the same session") {
        facts.objects[0].session = facts.objects[1].session = "";
        CHECK(told(facts) == "remove_container orphan c1");
    }
    SUBCASE("never when it is a persistent workspace") {
        facts.objects[0].workspace = facts.objects[1].workspace = "project-42";
        CHECK(told(facts) == "remove_container orphan c1");
    }
}

TEST_CASE("gc: the age of objects is told by the engine's clock") {
    GcFacts facts = at_rest();
    facts.objects = {stray(GcObject::Kind::container, "c1")};
    facts.engine_now_ms = facts.objects[0].created_ms + k_minute; // the host's clock is 29 minutes ahead
    CHECK(told(facts).empty());
    facts.engine_now_ms = 0;
    CHECK(told(facts).empty());
    facts.engine_now_ms = k_now;
    facts.now_ms = facts.objects[0].created_ms - k_day; // the host's clock is a day behind
    CHECK(told(facts) == "remove_container orphan c1");
}

TEST_CASE("gc: a moved state directory touches no orphan and nothing that runs") {
    GcFacts facts = at_rest();
    facts.on_its_machine = false;
    facts.objects = {stray(GcObject::Kind::container, "c1"), stray(GcObject::Kind::volume, "v1"), stray(GcObject::Kind::volume, "v2")};
    facts.objects[2].role = k_role_agent;
    facts.workspaces = {{"uid:0", "w1", "vw1", false, 1, {}}};
    facts.sessions = {healthy("s1"), healthy("s2"), healthy("s3")};
    facts.sessions[0].expires_ms = 1; // the machine it was copied from may have extended it
    facts.sessions[1].container_exists = facts.sessions[1].container_running = false;
    facts.sessions[2].half_destroyed = true;
    GcPolicy policy;
    policy.workspaces_older_than_ms = 0;
    CHECK(told(facts, policy) == "end_session dead s2");
    facts.on_its_machine = true;
    CHECK(plan_gc(facts, policy).size() == 7);
}

TEST_CASE("gc: retained workspaces go only when asked") {
    GcFacts facts = at_rest();
    facts.workspaces = {{"uid:0", "w1", "v1", false, k_now - 31 * k_day, {{"job", "1"}}}};
    GcWorkspace& workspace = facts.workspaces[0];
    const std::string taken = "remove_workspace unused_workspace w1";
    CHECK(told(facts).empty());

    GcPolicy policy;
    policy.workspaces_older_than_ms = 30 * k_day;
    CHECK(told(facts, policy) == taken);
    SUBCASE("in use") {
        workspace.in_use = true;
        CHECK(told(facts, policy).empty());
    }
    SUBCASE("used since") {
        workspace.last_used_ms = k_now - 30 * k_day + 1;
        CHECK(told(facts, policy).empty());
    }
    SUBCASE("unknown last use") {
        workspace.last_used_ms = 0;
        CHECK(told(facts, policy).empty());
    }
    SUBCASE("labels narrow, exactly and all of them") {
        policy.workspace_labels = {{"job", "1"}};
        CHECK(told(facts, policy) == taken);
        policy.workspace_labels = {{"job", "10"}};
        CHECK(told(facts, policy).empty());
        policy.workspace_labels = {{"job", "1"}, {"tenant", "acme"}};
        CHECK(told(facts, policy).empty());
        policy.workspace_labels = {{"tenant", ""}};
        CHECK(told(facts, policy).empty());
    }
    SUBCASE("labels alone ask for nothing") {
        policy.workspaces_older_than_ms.reset();
        policy.workspace_labels = {{"job", "1"}};
        CHECK(told(facts, policy).empty());
    }
    SUBCASE("another owner's") {
        policy.owner = "uid:1";
        CHECK(told(facts, policy).empty());
    }
}

TEST_CASE("gc: a half-made workspace goes with the last session that names it, unasked") {
    GcFacts facts = at_rest();
    facts.sessions = {healthy("s1"), healthy("s2")};
    facts.sessions[0].half_made = true;
    facts.workspaces = {{"uid:0", "w1", "v1", true, k_now, {}, true, {"s1"}}};
    const std::string ended = "end_session half_made s1";
    CHECK(told(facts) == ended + ", remove_workspace half_made w1");
    SUBCASE("nobody names it any more") {
        facts.sessions.clear();
        facts.workspaces[0].users.clear();
        CHECK(told(facts) == "remove_workspace half_made w1");
    }
    SUBCASE("its session is still being made") {
        facts.sessions[0].locked = true;
        CHECK(told(facts).empty());
    }
    SUBCASE("another session names it too") {
        facts.workspaces[0].users.insert("s2");
        CHECK(told(facts) == ended);
    }
    SUBCASE("a container without a session mounts it") {
        facts.workspaces[0].users.insert("");
        CHECK(told(facts) == ended);
    }
    SUBCASE("an orphaned container that mounts it goes before it") {
        facts.objects = {stray(GcObject::Kind::container, "c1")};
        facts.workspaces[0].users = {"sgone"};
        CHECK(told(facts) == ended + ", remove_container orphan c1, remove_workspace half_made w1");
    }
    SUBCASE("it was given to somebody") {
        facts.workspaces[0].half_made = false;
        CHECK(told(facts) == ended);
    }
    SUBCASE("another owner's") {
        CHECK(told(facts, only_owner("uid:1")).empty());
    }
    SUBCASE("on another machine it may be whole by now") {
        facts.on_its_machine = false;
        facts.sessions[0].container_running = false;
        CHECK(told(facts) == ended);
    }
}

TEST_CASE("gc: leftovers below the state directory") {
    GcFacts facts = at_rest();
    facts.leftovers = {{"s1", false, k_now - 10 * k_minute}};
    CHECK(told(facts) == "remove_leftover leftover s1");
    facts.leftovers = {{"s1", true, k_now - 10 * k_minute}, {"s2", false, k_now - k_minute}, {"s3", false, 0}};
    CHECK(told(facts).empty());
    facts.leftovers = {{"s1", false, k_now - k_day}};
    CHECK(told(facts, only_owner("uid:0")).empty());
}

TEST_CASE("gc: the directory of a session whose row is lost stays as long as its container may be there") {
    GcFacts facts = at_rest();
    facts.leftovers = {{"sgone", false, k_now - k_day}};
    facts.engines_answered = false;
    CHECK(told(facts).empty());
    facts.engines_answered = true;
    facts.objects = {stray(GcObject::Kind::container, "c1")};
    facts.objects[0].running = true;
    facts.objects[0].expires_ms = k_now + k_day;
    CHECK(told(facts).empty());
    facts.objects[0].running = false;
    CHECK(told(facts) == "remove_container orphan c1, remove_leftover leftover sgone");
}

TEST_CASE("gc: an owner narrows everything, by its exact name") {
    GcFacts facts = at_rest();
    facts.sessions = {healthy("s1"), healthy("s2"), healthy("s3")};
    facts.sessions[0].expires_ms = 1;
    facts.sessions[1].expires_ms = 1;
    facts.sessions[1].owner = "uid:00";
    facts.sessions[2].closed = true;
    facts.sessions[2].closed_ms = 1;
    facts.objects = {stray(GcObject::Kind::container, "c1"), stray(GcObject::Kind::volume, "v1"), stray(GcObject::Kind::container, "c2")};
    facts.objects[2].owner = "";
    facts.leftovers = {{"s9", false, 1}};
    CHECK(told(facts, only_owner("uid:0")) ==
          "end_session expired s1, remove_container orphan c1, remove_volume orphan v1, forget_session tombstone s3");
    CHECK(told(facts, only_owner("uid:00")) == "end_session expired s2");
    CHECK(told(facts, only_owner("uid:")).empty());
    // No owner is the empty one's scope, never everybody's.
    CHECK(told(facts, only_owner("")) == "remove_container orphan c2");
}

TEST_CASE("gc: the order is the order to act in, and the plan carries owners") {
    GcFacts facts = at_rest();
    facts.leftovers = {{"l1", false, 1}};
    facts.workspaces = {{"uid:0", "w1", "vw1", false, 1, {}}};
    facts.objects = {stray(GcObject::Kind::volume, "v1"), stray(GcObject::Kind::container, "c1")};
    facts.sessions = {healthy("t1"), healthy("s1")};
    facts.sessions[0].closed = true;
    facts.sessions[0].closed_ms = 1;
    facts.sessions[1].expires_ms = 1;
    GcPolicy policy;
    policy.workspaces_older_than_ms = 0;
    CHECK(told(facts, policy) ==
          "end_session expired s1, remove_container orphan c1, remove_volume orphan v1, "
          "remove_workspace unused_workspace w1, forget_session tombstone t1, remove_leftover leftover l1");
    for (const auto& item : plan_gc(facts, policy)) {
        if (item.action != GcItem::Action::remove_leftover) CHECK(item.owner == "uid:0");
    }
}

TEST_CASE("gc: an object's engine stands in the plan") {
    GcFacts facts = at_rest();
    facts.objects = {stray(GcObject::Kind::container, "c1"), stray(GcObject::Kind::volume, "v1"), stray(GcObject::Kind::volume, "v2")};
    facts.objects[0].engine = "E1";
    facts.objects[1].engine = "E2";
    facts.objects[2].engine = "E3";
    facts.objects[2].role = k_role_agent;
    const auto plan = plan_gc(facts, {});
    REQUIRE(plan.size() == 3);
    for (std::size_t i = 0; i < plan.size(); ++i) CHECK(plan[i].engine == facts.objects[i].engine);
}

TEST_CASE("gc: nothing seen is nothing done") {
    CHECK(plan_gc({}, {}).empty());
    GcPolicy all;
    all.workspaces_older_than_ms = 0;
    all.orphan_grace_ms = 0;
    all.tombstone_ms = 0;
    CHECK(plan_gc({}, all).empty());
}

TEST_CASE("gc: whatever the facts, the living and the unknown are left alone") {
    std::mt19937 random(20260101);
    const auto coin = [&] { return random() % 2 == 0; };
    for (int round = 0; round < 2000; ++round) {
        GcFacts facts = at_rest();
        facts.on_its_machine = coin();
        GcSession session{"s1", "uid:0", coin(), coin(), coin(), coin(), coin(), coin(), coin(), coin(), coin(), k_now,
                          coin() ? 0 : k_now - 1, coin() ? 0 : 1};
        facts.sessions = {session};
        GcObject object = stray(coin() ? GcObject::Kind::volume : GcObject::Kind::container, "o1");
        object.row_open = coin();
        object.in_use = coin();
        object.workspace = coin() ? "w" : "";
        object.created_ms = coin() ? 0 : 1;
        facts.objects = {object};
        for (const auto& item : plan_gc(facts, {})) {
            if (item.action == GcItem::Action::end_session) CHECK((session.engine_answered && !session.locked && !session.closed));
            if (item.action == GcItem::Action::forget_session) CHECK((session.closed && !session.locked));
            if (item.id == "o1") CHECK((!object.row_open && object.created_ms != 0 && facts.on_its_machine));
            if (item.action == GcItem::Action::remove_volume) CHECK((object.workspace.empty() && !object.in_use));
        }
    }
}
