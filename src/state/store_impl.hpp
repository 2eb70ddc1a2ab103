// SPDX-License-Identifier: Apache-2.0
// What the parts of Store share. Private to state/.
//
//   const auto use = m_impl->writing();
//   Txn txn(use.db);
#pragma once

#include "state/db.hpp"
#include "state/directory.hpp"
#include "state/instance.hpp"
#include "state/store.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace sandbox::state {

struct Store::Impl {
    Layout layout;
    Identity identity;
    std::string warning;
    std::unique_ptr<Db> db;
    bool is_read_only = false;
    Reserve reserve = Reserve::keep;
    std::optional<Snapshot> snapshot; // what `db` is, until it is out of date or something is written
    std::mutex mutex; // a connection has one transaction at a time

    struct Use {
        std::unique_lock<std::mutex> lock;
        Db& db;
    };
    Use reading();
    // Reads from the snapshot where there is one that still holds, else like reading(): quickly, and on a disk so full that
    // SQLite can't even make the index of its journal. `read` takes a Db.
    template <typename Read> auto read_quickly(Read&& read) {
        {
            const std::unique_lock lock(mutex);
            if (snapshot) {
                try {
                    auto result = read(*db);
                    if (snapshot->is_current()) return result;
                } catch (const Error&) {
                    // Torn by a writer, or really damaged: reading properly tells.
                }
            }
        }
        const auto use = reading();
        return read(use.db);
    }
    // A store opened for look-up becomes a whole one by the first write.
    Use writing();
};

// Store::insert() inside of a transaction.
void insert_in(Db& db, const SessionRow& row);

using Labels = std::map<std::string, std::string>;

} // namespace sandbox::state
