// SPDX-License-Identifier: Apache-2.0
// The queue for places: turns between owners, dead waiters, and a row only where the rule gives one.
#include "state/store.hpp"

#include "rows_fixture.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::state;

namespace {

// The queue as a waiter sees it that is given no place.
QueueView view_of(Store& store) {
    QueueView seen;
    QueueTicket ticket = store.enter_queue("looker");
    bool is_second = false;
    const auto rule = [&](const QueueView& view, const std::string&) {
        if (!is_second) return is_second = true; // the first look is at the open sessions alone
        seen = view;
        return false;
    };
    CHECK(!store.insert_if(plain_row("s000000000000"), ticket, rule));
    store.leave_queue(ticket);
    std::erase_if(seen.waiting, [&](const QueuedWaiter& waiter) { return waiter.id == ticket.id; });
    return seen;
}

const PlaceRule k_always = [](const QueueView&, const std::string&) { return true; };

} // namespace

TEST_CASE("queue: owners take turns, whoever brings more") {
    TempDir directory;
    Store store = Store::open(directory.path());
    std::vector<QueueTicket> tickets;
    for (const char* owner : {"a", "a", "a", "b", "b", "c"}) tickets.push_back(store.enter_queue(owner));
    std::vector<std::pair<std::string, std::int64_t>> turns;
    for (const auto& waiter : view_of(store).waiting) turns.emplace_back(waiter.owner, waiter.turn);
    CHECK(turns == std::vector<std::pair<std::string, std::int64_t>>{{"a", 1}, {"a", 2}, {"a", 3}, {"b", 1}, {"b", 2}, {"c", 1}});
}

TEST_CASE("queue: a newcomer comes after the turn that is served") {
    TempDir directory;
    Store store = Store::open(directory.path());
    std::vector<QueueTicket> tickets;
    for (int i = 0; i < 4; ++i) tickets.push_back(store.enter_queue("a"));
    for (int i = 0; i < 3; ++i) CHECK(store.insert_if(plain_row("s00000000000" + std::to_string(i)), tickets[static_cast<std::size_t>(i)], k_always));
    const QueueTicket newcomer = store.enter_queue("b");
    const QueueView view = view_of(store);
    REQUIRE(view.waiting.size() == 2);
    CHECK(view.waiting[0].turn == 4);
    CHECK(view.waiting[1].turn == 4); // not 1: the one who waits is not overtaken by every new owner
    CHECK(view.open.at("uid:0") == 3);
}

TEST_CASE("queue: the row is there exactly when the rule gives a place") {
    TempDir directory;
    Store store = Store::open(directory.path());
    const QueueTicket ticket = store.enter_queue("uid:0");
    const SessionRow row = plain_row("s000000000001");
    CHECK(!store.insert_if(row, ticket, [](const QueueView&, const std::string&) { return false; }));
    CHECK(!store.find(row.id));
    CHECK(store.insert_if(row, ticket, k_always));
    CHECK(store.find(row.id));
    CHECK(view_of(store).waiting.empty());
}

TEST_CASE("queue: a lost session has no place, a session in any other state has") {
    TempDir directory;
    Store store = Store::open(directory.path());
    int number = 0;
    for (const auto state : {SessionState::creating, SessionState::running, SessionState::paused, SessionState::stopped,
                             SessionState::destroying, SessionState::failed, SessionState::lost, SessionState::destroyed, SessionState::expired}) {
        SessionRow row = plain_row("s00000000000" + std::to_string(number++));
        row.state = state;
        store.insert(row);
    }
    CHECK(view_of(store).open.at("uid:0") == 6);
}

TEST_CASE("queue: a waiter that is killed holds no place (law 4)") {
    TempDir directory;
    Store store = Store::open(directory.path());
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        Store own = Store::open(directory.path());
        const QueueTicket ticket = own.enter_queue("a");
        if (::write(ready[1], "x", 1) != 1) ::_exit(1);
        ::pause();
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    CHECK(view_of(store).waiting.size() == 1);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    CHECK(view_of(store).waiting.empty());
    store.forget_dead_waiters();
    CHECK(store.enter_queue("a").id != "");
}
