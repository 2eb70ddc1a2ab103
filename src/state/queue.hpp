// SPDX-License-Identifier: Apache-2.0
// The queue of those that wait for a place where a config bounds the number of sessions. A waiter is a row and a kernel
// lock: it dies with its process, and whoever looks next takes its row away (law 4).
//
//   QueueTicket ticket = store.enter_queue(owner);
//   if (store.insert_if(row, ticket, rule)) ...
#pragma once

#include "util/fs.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sandbox::state {

struct QueuedWaiter {
    std::string id;
    std::string owner;
    std::int64_t turn = 0;   // whose turn it is, owners taken one after the other; see enter_queue()
    std::int64_t ticket = 0; // in the order of coming
};

struct QueueView {
    std::map<std::string, std::uint64_t> open; // sessions that are not closed, by owner
    std::vector<QueuedWaiter> waiting;         // those that live
};

// Whether the waiter of this id may have a place now.
using PlaceRule = std::function<bool(const QueueView&, const std::string& id)>;

// Held for as long as somebody waits.
struct QueueTicket {
    std::string id;
    FileLock lock;
};

} // namespace sandbox::state
