// SPDX-License-Identifier: Apache-2.0
// The schema of state.db as a list of named migrations, applied in order, each in its own transaction.
//
//   if (schema_of(db, k_migrations) == SchemaStatus::old) migrate(db, k_migrations);
#pragma once

#include "state/db.hpp"

#include <span>

namespace sandbox::state {

struct Migration {
    const char* name; // never changed once released
    const char* sql;
};
std::span<const Migration> migrations();

enum class SchemaStatus { empty, old, current };
// Throws `failed` for a database of a newer sandbox, DamagedDatabase for a file that is no database of ours.
SchemaStatus schema_of(const Db& db, std::span<const Migration> known);

// Brings an empty or old database up to date. The caller holds the schema lock and looked again under it.
void migrate(Db& db, std::span<const Migration> known);

} // namespace sandbox::state
