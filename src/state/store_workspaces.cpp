// SPDX-License-Identifier: Apache-2.0
#include "state/store_impl.hpp"

namespace sandbox::state {
namespace {

std::vector<WorkspaceRow> read_rows(const Db& db, Stmt& select) {
    std::vector<WorkspaceRow> rows;
    Stmt labels = db.prepare("SELECT key, value FROM workspace_label WHERE owner = ? AND workspace_id = ?");
    while (select.step()) {
        WorkspaceRow row;
        row.owner = select.text();
        row.id = select.text();
        row.volume = select.text();
        row.endpoint = select.text();
        row.engine_id = select.text();
        row.created_ms = select.integer();
        row.last_used_ms = select.integer();
        row.confirmed = select.boolean();
        for (labels.bind(row.owner, row.id); labels.step();) {
            std::string key = labels.text();
            row.labels.emplace(std::move(key), labels.text());
        }
        labels.reset();
        rows.push_back(std::move(row));
    }
    return rows;
}

#define SELECT_WORKSPACE "SELECT owner, id, volume, endpoint, engine_id, created_ms, last_used_ms, confirmed FROM workspace "

} // namespace

void Store::put(const WorkspaceRow& row) {
    const auto use = m_impl->writing();
    Txn txn(use.db);
    // The labels go with the old row, by the foreign key.
    use.db.prepare("DELETE FROM workspace WHERE owner = ? AND id = ?").bind(row.owner, row.id).run();
    use.db
        .prepare("INSERT INTO workspace (owner, id, volume, endpoint, engine_id, created_ms, last_used_ms, confirmed) "
                 "VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(row.owner, row.id, row.volume, row.endpoint, row.engine_id, row.created_ms, row.last_used_ms, row.confirmed)
        .run();
    Stmt insert = use.db.prepare("INSERT INTO workspace_label (owner, workspace_id, key, value) VALUES (?, ?, ?, ?)");
    for (const auto& [key, value] : row.labels) {
        insert.bind(row.owner, row.id, key, value).run();
        insert.reset();
    }
    txn.commit();
}

std::optional<WorkspaceRow> Store::find_workspace(std::string_view owner, std::string_view id) const {
    auto rows = m_impl->read_quickly([&](const Db& db) {
        Stmt select = db.prepare(SELECT_WORKSPACE "WHERE owner = ? AND id = ?");
        return read_rows(db, select.bind(owner, id));
    });
    if (rows.empty()) return std::nullopt;
    return std::move(rows.front());
}

std::vector<WorkspaceRow> Store::list_workspaces(const std::optional<std::string>& owner) const {
    return m_impl->read_quickly([&](const Db& db) {
        Stmt select = db.prepare(owner ? SELECT_WORKSPACE "WHERE owner = ? ORDER BY owner, id" : SELECT_WORKSPACE "ORDER BY owner, id");
        if (owner) select.bind(*owner);
        return read_rows(db, select);
    });
}

void Store::erase_workspace(std::string_view owner, std::string_view id) {
    const auto use = m_impl->writing();
    use.db.prepare("DELETE FROM workspace WHERE owner = ? AND id = ?").bind(owner, id).run();
}

std::optional<AgentVolumeRow> Store::find_agent_volume(std::string_view engine_id, std::string_view volume) const {
    const auto use = m_impl->reading();
    Stmt select = use.db.prepare("SELECT created_at FROM agent_volume WHERE engine_id = ? AND volume = ?");
    if (!select.bind(engine_id, volume).step()) return std::nullopt;
    return AgentVolumeRow{std::string(engine_id), std::string(volume), select.text()};
}

void Store::put(const AgentVolumeRow& row) {
    const auto use = m_impl->writing();
    use.db.prepare("INSERT OR REPLACE INTO agent_volume (engine_id, volume, created_at) VALUES (?, ?, ?)")
        .bind(row.engine_id, row.volume, row.created_at)
        .run();
}

} // namespace sandbox::state
