// SPDX-License-Identifier: Apache-2.0
#include "domain/capacity.hpp"

#include "util/format.hpp"

#include <algorithm>
#include <tuple>

namespace sandbox::domain {
namespace {

std::uint64_t total(const OpenSessions& open) {
    std::uint64_t sum = 0;
    for (const auto& [owner, count] : open) sum += count;
    return sum;
}

std::uint64_t count_of(const OpenSessions& open, const std::string& owner) {
    const auto found = open.find(owner);
    return found == open.end() ? 0 : found->second;
}

bool is_full(const std::optional<CapacityLimit>& limit, std::uint64_t count) { return limit && count >= limit->most; }

} // namespace

std::vector<std::string> admitted(const Capacity& capacity, OpenSessions open, std::vector<Waiter> waiting) {
    std::sort(waiting.begin(), waiting.end(),
              [](const Waiter& a, const Waiter& b) { return std::tie(a.turn, a.ticket) < std::tie(b.turn, b.ticket); });
    std::vector<std::string> next;
    std::uint64_t count = total(open);
    for (const Waiter& waiter : waiting) {
        if (is_full(capacity.sessions, count)) break;
        if (is_full(capacity.sessions_per_owner, count_of(open, waiter.owner))) continue;
        next.push_back(waiter.id);
        ++open[waiter.owner];
        ++count;
    }
    return next;
}

std::string full_reason(const Capacity& capacity, const OpenSessions& open, const std::string& owner) {
    const std::uint64_t own = count_of(open, owner);
    if (is_full(capacity.sessions_per_owner, own)) {
        return formatted("owner {} has {} sessions, and the ceiling is {} (sessionsPerOwner, set in {})", owner, own,
                         capacity.sessions_per_owner->most, capacity.sessions_per_owner->origin);
    }
    const std::uint64_t all = total(open);
    if (!is_full(capacity.sessions, all)) return {};
    return formatted("there are {} sessions, and the ceiling is {} (sessions, set in {})", all, capacity.sessions->most,
                     capacity.sessions->origin);
}

} // namespace sandbox::domain
