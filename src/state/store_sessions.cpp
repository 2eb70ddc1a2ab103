// SPDX-License-Identifier: Apache-2.0
#include "state/store_impl.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sandbox::state {
namespace {

// One order for every statement that reads or writes a whole row; bind_row and read_row follow it.
#define SESSION_COLUMNS                                                                                                          \
    "id, name, owner, state, endpoint, engine_id, container_name, container_id, volume, workspace_id, exclusive, channel, "      \
    "image, manifest_json, manifest_digest, created_ms, expires_ms, expires_boot_ms, boot_id, idle_timeout_ms, closed_ms, reason"
#define SESSION_PARAMETERS "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22"
#define SELECT_SESSION "SELECT " SESSION_COLUMNS " FROM session "
#define IS_OPEN "state NOT IN ('destroyed', 'expired')"
#define HOLDS_LEASE "exclusive AND state NOT IN ('destroyed', 'expired', 'lost')"

constexpr std::string_view k_socket = "socket";
constexpr std::string_view k_bridge = "bridge";

void bind_row(Stmt& stmt, const SessionRow& row) {
    stmt.bind(row.id, row.name, row.owner, state_name(row.state), row.endpoint, row.engine_id, row.container_name, row.container_id,
              row.volume, row.workspace_id, row.exclusive, row.channel == ChannelKind::bridge ? k_bridge : k_socket, row.image,
              row.manifest_json, row.manifest_digest, row.created_ms, row.expires_ms, row.expires_boot_ms, row.boot_id,
              row.idle_timeout_ms, row.closed_ms, row.reason);
}

SessionRow read_row(Stmt& stmt) {
    SessionRow row;
    row.id = stmt.text();
    row.name = stmt.text();
    row.owner = stmt.text();
    row.state = state_from_name(stmt.text());
    row.endpoint = stmt.text();
    row.engine_id = stmt.text();
    row.container_name = stmt.text();
    row.container_id = stmt.text();
    row.volume = stmt.text();
    row.workspace_id = stmt.text();
    row.exclusive = stmt.boolean();
    row.channel = stmt.text() == k_bridge ? ChannelKind::bridge : ChannelKind::socket;
    row.image = stmt.text();
    row.manifest_json = stmt.text();
    row.manifest_digest = stmt.text();
    row.created_ms = stmt.integer();
    row.expires_ms = stmt.integer();
    row.expires_boot_ms = stmt.integer();
    row.boot_id = stmt.text();
    row.idle_timeout_ms = stmt.integer();
    row.closed_ms = stmt.integer();
    row.reason = stmt.text();
    return row;
}

// All the rows of a SELECT_SESSION, with their labels.
std::vector<SessionRow> read_rows(const Db& db, Stmt& select) {
    std::vector<SessionRow> rows;
    Stmt labels = db.prepare("SELECT key, value FROM session_label WHERE session_id = ?");
    while (select.step()) {
        SessionRow row = read_row(select);
        for (labels.bind(row.id); labels.step();) {
            std::string key = labels.text();
            row.labels.emplace(std::move(key), labels.text());
        }
        labels.reset();
        rows.push_back(std::move(row));
    }
    return rows;
}

std::optional<SessionRow> read_one(const Db& db, Stmt select) {
    auto rows = read_rows(db, select);
    if (rows.empty()) return std::nullopt;
    return std::move(rows.front());
}

void write_labels(const Db& db, const SessionRow& row) {
    db.prepare("DELETE FROM session_label WHERE session_id = ?").bind(row.id).run();
    Stmt insert = db.prepare("INSERT INTO session_label (session_id, key, value) VALUES (?, ?, ?)");
    for (const auto& [key, value] : row.labels) {
        insert.bind(row.id, key, value).run();
        insert.reset();
    }
}

std::optional<SessionRow> lease_holder(const Db& db, std::string_view owner, std::string_view workspace_id) {
    return read_one(db, std::move(db.prepare(SELECT_SESSION "WHERE owner = ? AND workspace_id = ? AND " HOLDS_LEASE)
                                      .bind(owner, workspace_id)));
}

// The unique indexes hold the rule; this says it with the holder's id.
void check_is_free(const Db& db, const SessionRow& row) {
    if (is_closed(row.state)) return;
    if (!row.name.empty()) {
        Stmt holder = db.prepare("SELECT id FROM session WHERE owner = ? AND name = ? AND id <> ? AND " IS_OPEN);
        if (holder.bind(row.owner, row.name, row.id).step()) {
            throw Error(ErrorCode::exists, "session \"" + row.name + "\" exists (" + holder.text() + ")")
                .hint("destroy it first, or pick another --name");
        }
    }
    // Shared sessions stand side by side, and never beside one that wants the workspace for itself.
    if (row.workspace_id.empty() || row.state == SessionState::lost || row.state == SessionState::destroying) return;
    const auto holder = lease_holder(db, row.owner, row.workspace_id);
    if (!holder || holder->id == row.id) return;
    throw Error(ErrorCode::exists, "workspace \"" + row.workspace_id + "\" is leased by session " + holder->id)
        .hint("destroy that session first; sandbox ps shows it");
}

void update_in(Db& db, const SessionRow& row) {
    check_is_free(db, row);
    Stmt update = db.prepare("UPDATE session SET (" SESSION_COLUMNS ") = (" SESSION_PARAMETERS ") WHERE id = ?1");
    bind_row(update, row);
    update.run();
    if (db.changes() != 1) throw Error(ErrorCode::internal, "no row for session " + row.id);
}

} // namespace

void insert_in(Db& db, const SessionRow& row) {
    check_id_is_file_name(row.id);
    check_is_free(db, row);
    Stmt insert = db.prepare("INSERT INTO session (" SESSION_COLUMNS ") VALUES (" SESSION_PARAMETERS ")");
    bind_row(insert, row);
    insert.run();
    write_labels(db, row);
}

void Store::check_is_free(const SessionRow& row) const {
    const auto use = m_impl->reading();
    state::check_is_free(use.db, row);
}

void Store::insert(const SessionRow& row) {
    const auto use = m_impl->writing();
    Txn txn(use.db);
    insert_in(use.db, row);
    txn.commit();
}

void Store::update(const SessionRow& row) {
    const auto use = m_impl->writing();
    Txn txn(use.db);
    update_in(use.db, row);
    write_labels(use.db, row);
    txn.commit();
}

bool Store::transition(std::string_view id, SessionState from, SessionState to, std::string_view reason) {
    if (is_closed(from) || is_closed(to)) throw Error(ErrorCode::internal, "a session is closed by close(), and for good");
    const auto use = m_impl->writing();
    Txn txn(use.db);
    auto row = read_one(use.db, std::move(use.db.prepare(SELECT_SESSION "WHERE id = ?").bind(id)));
    if (!row || row->state != from) return false;
    row->state = to;
    row->reason = reason;
    update_in(use.db, *row);
    txn.commit();
    return true;
}

void Store::close(std::string_view id, SessionState closed_as, std::string_view reason) {
    if (!is_closed(closed_as)) throw Error(ErrorCode::internal, "a session is closed as destroyed or expired");
    const auto use = m_impl->writing();
    Txn txn(use.db);
    if (!use.db.prepare("SELECT 1 FROM session WHERE id = ?").bind(id).step()) {
        throw Error(ErrorCode::internal, "no row for session " + std::string(id));
    }
    use.db.prepare("UPDATE session SET state = ?, reason = ?, closed_ms = ? WHERE id = ? AND " IS_OPEN)
        .bind(state_name(closed_as), reason, wall_now_ms(), id)
        .run();
    txn.commit();
}

void Store::erase(std::string_view id) {
    const auto use = m_impl->writing();
    use.db.prepare("DELETE FROM session WHERE id = ?").bind(id).run();
}

std::optional<SessionRow> Store::find(std::string_view id) const {
    return m_impl->read_quickly([&](const Db& db) {
        return read_one(db, std::move(db.prepare(SELECT_SESSION "WHERE id = ?").bind(id)));
    });
}

std::optional<SessionRow> Store::find_by_name(std::string_view owner, std::string_view name) const {
    if (name.empty()) return std::nullopt; // which stands for "none"
    return m_impl->read_quickly([&](const Db& db) {
        return read_one(db, std::move(db.prepare(SELECT_SESSION "WHERE owner = ? AND name = ? "
                                                 "ORDER BY " IS_OPEN " DESC, closed_ms DESC, created_ms DESC LIMIT 1")
                                          .bind(owner, name)));
    });
}

bool Store::exists_for_other_owner(std::string_view owner, std::string_view id_or_name) const {
    if (id_or_name.empty()) return false;
    return m_impl->read_quickly([&](const Db& db) {
        return db.prepare("SELECT 1 FROM session WHERE owner <> ?1 AND (id = ?2 OR name = ?2) AND " IS_OPEN " LIMIT 1")
            .bind(owner, id_or_name)
            .step();
    });
}

std::optional<SessionRow> Store::find_lease_holder(std::string_view owner, std::string_view workspace_id) const {
    if (workspace_id.empty()) return std::nullopt;
    return m_impl->read_quickly([&](const Db& db) { return lease_holder(db, owner, workspace_id); });
}

std::vector<SessionRow> Store::list(const Filter& filter) const {
    std::string sql = SELECT_SESSION "WHERE 1";
    if (filter.owner) sql += " AND owner = ?";
    for (std::size_t i = 0; i < filter.labels.size(); ++i) {
        sql += " AND EXISTS (SELECT 1 FROM session_label WHERE session_id = session.id AND key = ? AND value = ?)";
    }
    if (!filter.include_closed) sql += " AND " IS_OPEN;

    auto rows = m_impl->read_quickly([&](const Db& db) {
        Stmt select = db.prepare(sql);
        if (filter.owner) select.bind(*filter.owner);
        for (const auto& [key, value] : filter.labels) select.bind(key, value);
        return read_rows(db, select);
    });
    // Not by SQLite: sorting rows of this size, it spills them to a file in the temporary directory.
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return std::tie(a.created_ms, a.id) < std::tie(b.created_ms, b.id); });
    return rows;
}

std::vector<SessionRow> Store::overdue(std::int64_t wall_now, std::size_t limit) const {
    return m_impl->read_quickly([&](const Db& db) {
        // By the clock that nobody steps where the row is of this boot.
        Stmt select = db.prepare(SELECT_SESSION "WHERE CASE WHEN boot_id = ?1 AND boot_id <> '' AND expires_boot_ms > 0 THEN expires_boot_ms <= ?2 "
                                                "ELSE expires_ms > 0 AND expires_ms <= ?3 END AND " IS_OPEN " ORDER BY expires_ms, id LIMIT ?4");
        select.bind(boot_id(), boot_now_ms(), wall_now, static_cast<std::int64_t>(limit));
        return read_rows(db, select);
    });
}

} // namespace sandbox::state
