// SPDX-License-Identifier: Apache-2.0
// How many sessions there may be, and who of those that wait for a place comes next. Pure: state/ holds the queue.
//
//   const auto next = admitted(capacity, open, waiting);   // the ids of those who may go now
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sandbox::domain {

struct CapacityLimit {
    std::uint64_t most = 0;
    std::string origin; // "/etc/sandbox/config.yaml:4"
};

struct Capacity {
    std::optional<CapacityLimit> sessions;
    std::optional<CapacityLimit> sessions_per_owner;

    bool is_unlimited() const { return !sessions && !sessions_per_owner; }
};

struct Waiter {
    std::string id;
    std::string owner;
    std::int64_t turn = 0;
    std::int64_t ticket = 0;
};

using OpenSessions = std::map<std::string, std::uint64_t>; // by owner

// Who may have a place now, in that order: by turn, then by ticket. An owner that is full is passed over and holds up
// nobody else.
std::vector<std::string> admitted(const Capacity& capacity, OpenSessions open, std::vector<Waiter> waiting);
// Which ceiling keeps `owner` out: "20 sessions are open, which is the ceiling set in ...". Empty where none does, but
// others come first.
std::string full_reason(const Capacity& capacity, const OpenSessions& open, const std::string& owner);

} // namespace sandbox::domain
