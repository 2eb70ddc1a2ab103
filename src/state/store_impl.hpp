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
#include <string>

namespace sandbox::state {

struct Store::Impl {
    Layout layout;
    Identity identity;
    std::string warning;
    std::unique_ptr<Db> db;
    bool is_read_only = false;
    std::mutex mutex; // a connection has one transaction at a time

    struct Use {
        std::unique_lock<std::mutex> lock;
        Db& db;
    };
    Use reading();
    // A store opened for look-up becomes a whole one by the first write.
    Use writing();
};

using Labels = std::map<std::string, std::string>;

} // namespace sandbox::state
