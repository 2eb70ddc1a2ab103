// SPDX-License-Identifier: Apache-2.0
// How state.db comes to be: made, migrated, or set aside and made anew, under the schema lock. Private to state/.
//
//   Opened opened = open_database(layout, migrations());
#pragma once

#include "state/db.hpp"
#include "state/directory.hpp"
#include "state/instance.hpp"
#include "state/schema.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace sandbox::state {

struct Opened {
    std::unique_ptr<Db> db;
    Identity identity;
    std::string warning; // what was repaired; empty: nothing
    std::optional<Snapshot> snapshot = std::nullopt; // `db` is one
};

// Moves a database with its journals out of the way and returns its new name. Killed at any point, it leaves them together. For
// whoever holds the schema lock. Throws Error.
std::string set_aside(const std::string& database);
Opened open_database(const Layout& layout, std::span<const Migration> known);
// Read-only, a snapshot where nobody writes, and without any repair: null `db` when anything at all is not as it should be.
Opened open_database_for_lookup(const Layout& layout, std::span<const Migration> known);

} // namespace sandbox::state
