// SPDX-License-Identifier: Apache-2.0
#include "state/store.hpp"

#include "rows_fixture.hpp"
#include "util/error.hpp"
#include "util/time.hpp"

#include <doctest/doctest.h>
#include <set>
#include <string>

using namespace sandbox;
using namespace sandbox::state;
using namespace std::string_literals;

namespace {

std::vector<std::string> ids(const std::vector<SessionRow>& rows) {
    std::vector<std::string> result;
    for (const auto& row : rows) result.push_back(row.id);
    return result;
}

using Ids = std::vector<std::string>;

} // namespace

TEST_CASE("rows: every state has one name, and only those") {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(SessionState::expired); ++i) {
        const auto state = static_cast<SessionState>(i);
        CHECK(names.insert(state_name(state)).second);
        CHECK(state_from_name(state_name(state)) == state);
    }
    CHECK(failure_of([] { state_from_name("Running"); }).code() == ErrorCode::internal);
    CHECK(failure_of([] { state_from_name(""); }).code() == ErrorCode::internal);
}

TEST_CASE("store: a row comes back as it was written, by another store too") {
    TempDir directory;
    SessionRow row = full_row("s1");
    {
        Store store = Store::open(directory.path());
        store.insert(row);
        CHECK(same(*store.find("s1"), row));
    }
    Store again = Store::open_for_lookup(directory.path());
    CHECK(same(*again.find("s1"), row));
    CHECK_FALSE(again.find("s"));
    CHECK_FALSE(again.find("s11"));
    CHECK_FALSE(again.find("S1"));
    CHECK_FALSE(again.find("s_"));
    CHECK_FALSE(again.find(""));
}

TEST_CASE("store: update writes every column and replaces the labels") {
    TempDir directory;
    Store store = Store::open(directory.path());
    store.insert(plain_row("s1"));
    SessionRow row = full_row("s1");
    store.update(row);
    CHECK(same(*store.find("s1"), row));
    row.labels = {{"only", "one"}};
    store.update(row);
    CHECK(same(*store.find("s1"), row));
    CHECK(failure_of([&] { store.update(plain_row("s2")); }).code() == ErrorCode::internal);
    CHECK_FALSE(store.find("s2"));
}

TEST_CASE("store: any bytes survive in texts") {
    TempDir directory;
    Store store = Store::open(directory.path());
    SessionRow row = plain_row("s1");
    row.manifest_json = "a\0b\xff'; DROP TABLE session; --"s;
    row.reason = std::string(1 << 20, 'r');
    row.labels = {{"k'", "v\"\n\0x"s}, {"", ""}};
    store.insert(row);
    CHECK(same(*store.find("s1"), row));
}

TEST_CASE("store: an open name is unique within its owner and free after close") {
    TempDir directory;
    Store store = Store::open(directory.path());
    SessionRow row = plain_row("s1");
    row.name = "web";
    store.insert(row);

    SessionRow second = plain_row("s2");
    second.name = "web";
    const Error taken = failure_of([&] { store.insert(second); });
    CHECK(taken.code() == ErrorCode::exists);
    CHECK(taken.message().find("s1") != std::string::npos);
    CHECK_FALSE(store.find("s2"));

    second.owner = "uid:1";
    CHECK_NOTHROW(store.insert(second));
    SessionRow third = plain_row("s3");
    third.name = "WEB";
    CHECK_NOTHROW(store.insert(third));
    CHECK_NOTHROW(store.insert(plain_row("s4"))); // no name
    CHECK_NOTHROW(store.insert(plain_row("s5"))); // is nobody's name

    store.close("s1", SessionState::destroyed, "destroyed by uid:0");
    SessionRow heir = plain_row("s6");
    heir.name = "web";
    CHECK_NOTHROW(store.insert(heir));
    CHECK(failure_of([&] { store.insert(plain_row("s6")); }).code() == ErrorCode::exists);
}

TEST_CASE("store: an exclusive lease is held by one open session") {
    TempDir directory;
    Store store = Store::open(directory.path());
    store.insert(leasing_row("s1", "project-42"));
    const Error taken = failure_of([&] { store.insert(leasing_row("s2", "project-42")); });
    CHECK(taken.code() == ErrorCode::exists);
    CHECK(taken.message().find("s1") != std::string::npos);
    CHECK(store.find_lease_holder("uid:0", "project-42")->id == "s1");
    CHECK_FALSE(store.find_lease_holder("uid:1", "project-42"));
    CHECK_FALSE(store.find_lease_holder("uid:0", ""));

    SUBCASE("of another owner or workspace it is another one") {
        SessionRow foreign = leasing_row("s2", "project-42");
        foreign.owner = "uid:1";
        CHECK_NOTHROW(store.insert(foreign));
        CHECK_NOTHROW(store.insert(leasing_row("s3", "project-4")));
        CHECK_NOTHROW(store.insert(plain_row("s4")));
        CHECK_NOTHROW(store.insert(plain_row("s5")));
    }
    SUBCASE("a shared session does not join it") {
        SessionRow shared = leasing_row("s2", "project-42");
        shared.exclusive = false;
        CHECK(failure_of([&] { store.insert(shared); }).code() == ErrorCode::exists);
        store.close("s1", SessionState::destroyed, "");
        CHECK_NOTHROW(store.insert(shared));
        shared.id = "s3";
        CHECK_NOTHROW(store.insert(shared));
    }
    SUBCASE("it ends with the session") {
        store.close("s1", SessionState::expired, "ttl");
        CHECK_NOTHROW(store.insert(leasing_row("s2", "project-42")));
    }
    SUBCASE("it ends with the container, and is taken again") {
        REQUIRE(store.transition("s1", SessionState::creating, SessionState::lost, "idle"));
        CHECK_FALSE(store.find_lease_holder("uid:0", "project-42"));
        store.insert(leasing_row("s2", "project-42"));
        const Error held = failure_of([&] { store.transition("s1", SessionState::lost, SessionState::running, ""); });
        CHECK(held.code() == ErrorCode::exists);
        CHECK(held.message().find("s2") != std::string::npos);
        CHECK(store.find("s1")->state == SessionState::lost);
        store.close("s2", SessionState::destroyed, "");
        CHECK(store.transition("s1", SessionState::lost, SessionState::running, ""));
    }
    SUBCASE("a lost one ends beside whoever took it since") {
        REQUIRE(store.transition("s1", SessionState::creating, SessionState::lost, "idle"));
        store.insert(leasing_row("s2", "project-42"));
        SessionRow ending = *store.find("s1");
        ending.state = SessionState::destroying;
        ending.exclusive = false;
        CHECK_NOTHROW(store.update(ending));
        CHECK(store.find_lease_holder("uid:0", "project-42")->id == "s2");
    }
    SUBCASE("asking takes nothing") {
        CHECK(failure_of([&] { store.check_is_free(leasing_row("s2", "project-42")); }).code() == ErrorCode::exists);
        CHECK_NOTHROW(store.check_is_free(leasing_row("s2", "project-4")));
        CHECK_NOTHROW(store.insert(leasing_row("s3", "project-4")));
    }
    SUBCASE("an update cannot take it either") {
        store.insert(plain_row("s2"));
        CHECK(failure_of([&] { store.update(leasing_row("s2", "project-42")); }).code() == ErrorCode::exists);
        CHECK(store.find("s2")->workspace_id.empty());
        CHECK_NOTHROW(store.update(leasing_row("s1", "project-42")));
    }
}

TEST_CASE("store: transition is compare-and-set") {
    TempDir directory;
    Store store = Store::open(directory.path());
    const SessionRow row = full_row("s1");
    store.insert(row);
    CHECK_FALSE(store.transition("s1", SessionState::creating, SessionState::destroying, "no"));
    CHECK(same(*store.find("s1"), row));
    CHECK(store.transition("s1", row.state, SessionState::paused, "asked"));
    CHECK(store.find("s1")->state == SessionState::paused);
    CHECK(store.find("s1")->reason == "asked");
    CHECK(store.find("s1")->labels == row.labels);
    CHECK_FALSE(store.transition("none", SessionState::creating, SessionState::running, ""));
    CHECK(failure_of([&] { store.transition("s1", SessionState::paused, SessionState::destroyed, ""); }).code() == ErrorCode::internal);
}

TEST_CASE("store: closing leaves a tombstone that keeps its first reason") {
    TempDir directory;
    Store store = Store::open(directory.path());
    SessionRow row = plain_row("s1");
    row.labels = {{"job", "1"}};
    store.insert(row);
    const std::int64_t before = wall_now_ms();
    store.close("s1", SessionState::expired, "ttl");
    store.close("s1", SessionState::destroyed, "destroyed by uid:0");
    const SessionRow closed = *store.find("s1");
    CHECK(closed.state == SessionState::expired);
    CHECK(closed.reason == "ttl");
    CHECK(closed.closed_ms >= before);
    CHECK(closed.closed_ms <= wall_now_ms());
    CHECK(closed.labels == row.labels);
    CHECK_FALSE(store.transition("s1", SessionState::creating, SessionState::running, ""));
    CHECK(failure_of([&] { store.close("s2", SessionState::destroyed, ""); }).code() == ErrorCode::internal);
    CHECK(failure_of([&] { store.close("s1", SessionState::running, ""); }).code() == ErrorCode::internal);

    store.erase("s1");
    CHECK_FALSE(store.find("s1"));
    store.erase("s1");
    // Labels of the erased row are gone with it, or this insert would find them taken.
    store.insert(row);
    CHECK(store.find("s1")->labels == row.labels);
}

TEST_CASE("store: a name finds the open session, else the one closed last") {
    TempDir directory;
    Store store = Store::open(directory.path());
    for (const auto& id : Ids{"s1", "s2", "s3"}) {
        SessionRow row = plain_row(id);
        row.name = "web";
        row.created_ms = id == "s2" ? 5 : 1;
        store.insert(row);
        store.close(id, SessionState::destroyed, "");
        SessionRow closed = *store.find(id);
        closed.closed_ms = id == "s2" ? 9 : 3;
        store.update(closed);
    }
    CHECK(store.find_by_name("uid:0", "web")->id == "s2");
    SessionRow open = plain_row("s4");
    open.name = "web";
    store.insert(open);
    CHECK(store.find_by_name("uid:0", "web")->id == "s4");
    // Exactly, and within the owner.
    for (const auto& name : Ids{"we", "webb", "WEB", "we%", "we_", "*", "", "s4"}) CHECK_FALSE(store.find_by_name("uid:0", name));
    CHECK_FALSE(store.find_by_name("uid:", "web"));
    CHECK_FALSE(store.find_by_name("", "web"));
}

TEST_CASE("store: a hint for another owner's session") {
    TempDir directory;
    Store store = Store::open(directory.path());
    SessionRow row = plain_row("s1");
    row.name = "web";
    store.insert(row);
    CHECK(store.exists_for_other_owner("uid:1", "web"));
    CHECK(store.exists_for_other_owner("uid:1", "s1"));
    CHECK_FALSE(store.exists_for_other_owner("uid:0", "web"));
    CHECK_FALSE(store.exists_for_other_owner("uid:1", "we"));
    CHECK_FALSE(store.exists_for_other_owner("uid:1", ""));
    store.close("s1", SessionState::destroyed, "");
    CHECK_FALSE(store.exists_for_other_owner("uid:1", "web"));
}

TEST_CASE("store: lists are scoped, filtered by all labels exactly, and in order") {
    TempDir directory;
    Store store = Store::open(directory.path());
    const auto add = [&](const std::string& id, const std::string& owner, std::int64_t created, std::map<std::string, std::string> labels) {
        SessionRow row = plain_row(id);
        row.owner = owner;
        row.created_ms = created;
        row.labels = std::move(labels);
        store.insert(row);
    };
    add("s3", "uid:0", 10, {{"job", "1"}, {"tenant", "acme"}});
    add("s2", "uid:0", 10, {{"job", "10"}});
    add("s1", "uid:0", 20, {});
    add("s9", "uid:1", 5, {{"job", "1"}});
    add("s5", "uid:0", 1, {{"job", "1"}});
    store.close("s5", SessionState::destroyed, "");

    Store::Filter filter;
    CHECK(ids(store.list(filter)) == Ids{"s9", "s2", "s3", "s1"});
    filter.owner = "uid:0";
    CHECK(ids(store.list(filter)) == Ids{"s2", "s3", "s1"});
    filter.labels = {{"job", "1"}};
    CHECK(ids(store.list(filter)) == Ids{"s3"});
    filter.include_closed = true;
    CHECK(ids(store.list(filter)) == Ids{"s5", "s3"});
    filter.labels = {{"job", "1"}, {"tenant", "acme"}};
    CHECK(ids(store.list(filter)) == Ids{"s3"});
    CHECK(store.list(filter)[0].labels == filter.labels);
    for (const auto& [key, value] : std::map<std::string, std::string>{{"job", "%"}, {"jo", "1"}, {"JOB", "1"}, {"", ""}}) {
        filter.labels = {{key, value}};
        CHECK(store.list(filter).empty());
    }
    filter.labels.clear();
    filter.owner = ""; // an empty owner is nobody, never everybody
    CHECK(store.list(filter).empty());
}

TEST_CASE("store: overdue sessions, oldest first and bounded") {
    TempDir directory;
    Store store = Store::open(directory.path());
    for (int i = 1; i <= 5; ++i) {
        SessionRow row = plain_row("s" + std::to_string(i));
        row.expires_ms = i == 5 ? 0 : 100 - i; // s5: unknown
        store.insert(row);
    }
    store.close("s4", SessionState::destroyed, "");
    CHECK(ids(store.overdue(99, 10)) == Ids{"s3", "s2", "s1"});
    CHECK(ids(store.overdue(98, 10)) == Ids{"s3", "s2"});
    CHECK(ids(store.overdue(99, 1)) == Ids{"s3"});
    CHECK(store.overdue(99, 0).empty());
    CHECK(store.overdue(0, 10).empty());
}

TEST_CASE("store: overdue goes by the clock of the boot where the row is of this one") {
    TempDir directory;
    Store store = Store::open(directory.path());
    const auto insert = [&](const char* id, const std::string& boot, std::int64_t boot_ms, std::int64_t wall_ms) {
        SessionRow row = plain_row(id);
        row.boot_id = boot, row.expires_boot_ms = boot_ms, row.expires_ms = wall_ms;
        store.insert(row);
    };
    insert("forward", boot_id(), boot_now_ms() + 3'600'000, 1);
    insert("back", boot_id(), 1, 1000);
    insert("before", "another boot", 1, 1000);
    insert("unknown", boot_id(), 0, 2);
    CHECK(ids(store.overdue(99, 10)) == Ids{"unknown", "back"});
    CHECK(ids(store.overdue(1000, 10)) == Ids{"unknown", "back", "before"});
}

TEST_CASE("store: workspaces") {
    TempDir directory;
    Store store = Store::open(directory.path());
    WorkspaceRow row{"uid:0", "project-42", "v1", "unix:///var/run/docker.sock", "E1", {{"tenant", "acme"}, {"a", ""}}, 1, 2, false};
    store.put(row);
    WorkspaceRow other = row;
    other.owner = "uid:1";
    other.volume = "v2";
    store.put(other);

    row.confirmed = true;
    row.labels = {{"tenant", "other"}};
    row.last_used_ms = 99;
    store.put(row);
    const WorkspaceRow found = *store.find_workspace("uid:0", "project-42");
    CHECK(found.volume == "v1");
    CHECK(found.endpoint == row.endpoint);
    CHECK(found.engine_id == "E1");
    CHECK(found.labels == row.labels);
    CHECK(found.created_ms == 1);
    CHECK(found.last_used_ms == 99);
    CHECK(found.confirmed);
    CHECK(store.find_workspace("uid:1", "project-42")->volume == "v2");
    CHECK(store.find_workspace("uid:1", "project-42")->labels == other.labels);
    CHECK_FALSE(store.find_workspace("uid:2", "project-42"));
    CHECK_FALSE(store.find_workspace("uid:0", "project"));

    CHECK(store.list_workspaces(std::nullopt).size() == 2);
    CHECK(store.list_workspaces("uid:1").size() == 1);
    CHECK(store.list_workspaces("").empty());
    store.erase_workspace("uid:0", "project-42");
    store.erase_workspace("uid:0", "project-42");
    CHECK_FALSE(store.find_workspace("uid:0", "project-42"));
    CHECK(store.find_workspace("uid:1", "project-42"));
}

TEST_CASE("store: agent volumes belong to one engine") {
    TempDir directory;
    Store store = Store::open(directory.path());
    store.put(AgentVolumeRow{"E1", "sandbox-agent-1", "2026-01-01T00:00:00Z"});
    store.put(AgentVolumeRow{"E1", "sandbox-agent-1", "2026-01-02T00:00:00Z"});
    CHECK(store.find_agent_volume("E1", "sandbox-agent-1")->created_at == "2026-01-02T00:00:00Z");
    CHECK_FALSE(store.find_agent_volume("E2", "sandbox-agent-1"));
    CHECK_FALSE(store.find_agent_volume("E1", "sandbox-agent-2"));
}

TEST_CASE("store: opened for look-up it becomes whole by the first write") {
    TempDir directory;
    Store::open(directory.path()).insert(plain_row("s1"));
    Store store = Store::open_for_lookup(directory.path());
    CHECK(store.find("s1"));
    store.insert(plain_row("s2"));
    CHECK(store.find("s2"));
    CHECK(store.find("s1"));
}

TEST_CASE("store: what one connection commits the next one reads") {
    TempDir directory;
    Store writer = Store::open(directory.path());
    Store reader = Store::open_for_lookup(directory.path());
    for (int i = 0; i < 50; ++i) {
        const std::string id = "s" + std::to_string(i);
        writer.insert(plain_row(id));
        REQUIRE(reader.find(id));
    }
}
