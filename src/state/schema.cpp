// SPDX-License-Identifier: Apache-2.0
#include "state/schema.hpp"

#include "util/time.hpp"

#include <array>
#include <string>

namespace sandbox::state {
namespace {

constexpr std::int64_t k_application_id = 0x53424f58; // "SBOX"

// A session whose container is lost holds no lease: the lease ends with the container.
constexpr const char* k_sessions = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    engine_id TEXT NOT NULL,
    container_name TEXT NOT NULL,
    container_id TEXT NOT NULL,
    volume TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    exclusive INTEGER NOT NULL,
    channel TEXT NOT NULL,
    image TEXT NOT NULL,
    manifest_json TEXT NOT NULL,
    manifest_digest TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    expires_boot_ms INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    idle_timeout_ms INTEGER NOT NULL,
    closed_ms INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX session_open_name ON session (owner, name)
    WHERE name <> '' AND state NOT IN ('destroyed', 'expired');
CREATE UNIQUE INDEX session_lease ON session (owner, workspace_id)
    WHERE workspace_id <> '' AND exclusive AND state NOT IN ('destroyed', 'expired', 'lost');
CREATE INDEX session_name ON session (owner, name);
CREATE INDEX session_deadline ON session (expires_ms)
    WHERE state NOT IN ('destroyed', 'expired');

CREATE TABLE session_label (
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (session_id, key)
) STRICT, WITHOUT ROWID;
)sql";

constexpr const char* k_workspaces = R"sql(
CREATE TABLE workspace (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    volume TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    engine_id TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    last_used_ms INTEGER NOT NULL,
    confirmed INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;
CREATE TABLE workspace_label (
    owner TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (owner, workspace_id, key),
    FOREIGN KEY (owner, workspace_id) REFERENCES workspace (owner, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_volume (
    engine_id TEXT NOT NULL,
    volume TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (engine_id, volume)
) STRICT;
)sql";

constexpr const char* k_queue = R"sql(
CREATE TABLE waiter (
    ticket INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    turn INTEGER NOT NULL
) STRICT;
)sql";

constexpr std::array k_migrations{
    Migration{"0001-sessions", k_sessions},
    Migration{"0002-workspaces", k_workspaces},
    Migration{"0003-queue", k_queue},
};

bool is_applied(const Db& db, const Migration& migration) {
    return db.prepare("SELECT 1 FROM schema_migration WHERE name = ?").bind(migration.name).step();
}

} // namespace

std::span<const Migration> migrations() { return k_migrations; }

SchemaStatus schema_of(const Db& db, std::span<const Migration> known) {
    const std::int64_t application = db.pragma("application_id");
    const std::int64_t version = db.pragma("user_version");
    const auto current = static_cast<std::int64_t>(known.size());
    if (application == k_application_id && version == current) return SchemaStatus::current;
    if (application == k_application_id && version > current) {
        throw Error(ErrorCode::failed, db.path() + " has schema " + std::to_string(version) + ", made by a newer sandbox; this one knows " +
                                           std::to_string(current))
            .hint("use the newer sandbox, or another --state-dir");
    }
    if (application == k_application_id) return SchemaStatus::old;
    const bool is_empty = !db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").step();
    if (application == 0 && version == 0 && is_empty) return SchemaStatus::empty;
    throw DamagedDatabase(db.path() + " is the database of another program");
}

void migrate(Db& db, std::span<const Migration> known) {
    db.exec("PRAGMA journal_mode = WAL");
    std::int64_t version = 0;
    for (const auto& migration : known) {
        ++version;
        Txn txn(db);
        db.exec("CREATE TABLE IF NOT EXISTS schema_migration (name TEXT PRIMARY KEY, applied_ms INTEGER NOT NULL) STRICT");
        if (is_applied(db, migration)) continue;
        db.exec(migration.sql);
        db.prepare("INSERT INTO schema_migration (name, applied_ms) VALUES (?, ?)").bind(migration.name, wall_now_ms()).run();
        // Written with each step, so that a crash between two of them leaves a database that says how far it is.
        db.exec(("PRAGMA user_version = " + std::to_string(version)).c_str());
        db.exec(("PRAGMA application_id = " + std::to_string(k_application_id)).c_str());
        txn.commit();
    }
}

} // namespace sandbox::state
