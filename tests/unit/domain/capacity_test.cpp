// SPDX-License-Identifier: Apache-2.0
// Who gets a place, where sessions are bounded.
#include "domain/capacity.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace sandbox::domain;

namespace {

using Ids = std::vector<std::string>;

Capacity capacity(std::uint64_t sessions, std::uint64_t per_owner = 0) {
    Capacity result;
    if (sessions > 0) result.sessions = CapacityLimit{sessions, "c.yaml:1"};
    if (per_owner > 0) result.sessions_per_owner = CapacityLimit{per_owner, "c.yaml:2"};
    return result;
}

} // namespace

TEST_CASE("places go by turn and then by ticket") {
    CHECK(admitted(capacity(3), {{"a", 1}}, {{"3", "c", 2, 1}, {"2", "b", 1, 3}, {"1", "a", 1, 2}}) == Ids{"1", "2"});
    CHECK(admitted(capacity(1), {{"a", 1}}, {{"1", "a", 1, 1}}).empty());
    CHECK(admitted(capacity(1), {{"a", 5}}, {{"1", "a", 1, 1}}).empty());
    CHECK(admitted(capacity(0), {{"a", 5}}, {{"1", "a", 1, 1}}) == Ids{"1"});
}

TEST_CASE("an owner that is full holds up nobody") {
    CHECK(admitted(capacity(0, 1), {{"a", 1}}, {{"1", "a", 1, 1}, {"2", "b", 2, 2}, {"3", "b", 3, 3}}) == Ids{"2"});
    CHECK(admitted(capacity(4, 2), {{"a", 2}}, {{"1", "a", 1, 1}, {"2", "b", 1, 2}, {"3", "b", 2, 3}, {"4", "c", 3, 4}}) ==
          Ids{"2", "3"});
}

TEST_CASE("the reason names the ceiling and where it is set") {
    CHECK(full_reason(capacity(2), {{"a", 1}, {"b", 1}}, "a") == "there are 2 sessions, and the ceiling is 2 (sessions, set in c.yaml:1)");
    CHECK(full_reason(capacity(9, 1), {{"a", 1}}, "a") == "owner a has 1 sessions, and the ceiling is 1 (sessionsPerOwner, set in c.yaml:2)");
    CHECK(full_reason(capacity(2), {{"a", 1}}, "a").empty());
}

TEST_CASE("never over a ceiling, and never an idle place that somebody could have") {
    std::mt19937 random(1);
    const auto below = [&](unsigned most) { return static_cast<std::uint64_t>(random() % most); };
    for (int round = 0; round < 2000; ++round) {
        const auto limits = capacity(below(8), below(4));
        OpenSessions open;
        for (const char* owner : {"a", "b", "c"}) open[owner] = below(4);
        std::vector<Waiter> waiting;
        for (std::int64_t ticket = 0; ticket < 8; ++ticket) {
            waiting.push_back({std::to_string(ticket), std::string(1, static_cast<char>('a' + below(3))), static_cast<std::int64_t>(below(4)), ticket});
        }
        const OpenSessions before = open;
        std::uint64_t total = before.at("a") + before.at("b") + before.at("c");
        for (const auto& id : admitted(limits, open, waiting)) {
            ++open[waiting[std::stoul(id)].owner];
            ++total;
            if (limits.sessions) CHECK(total <= limits.sessions->most);
            if (limits.sessions_per_owner) CHECK(open[waiting[std::stoul(id)].owner] <= limits.sessions_per_owner->most);
        }
        const auto next = admitted(limits, before, waiting);
        for (const Waiter& waiter : waiting) {
            if (std::ranges::find(next, waiter.id) == next.end()) CHECK(!full_reason(limits, open, waiter.owner).empty());
        }
    }
}
