// SPDX-License-Identifier: Apache-2.0
#include "state/store_impl.hpp"
#include "util/random.hpp"

#include <filesystem>

namespace sandbox::state {
namespace {

constexpr const char* k_served_turn = "queue-turn";

std::string lock_of(const Layout& layout, std::string_view waiter) { return layout.other_lock("waiter-" + std::string(waiter)); }

bool lives(const Layout& layout, const QueuedWaiter& waiter) { return FileLock::is_held(lock_of(layout, waiter.id)); }

std::vector<QueuedWaiter> read_waiters(const Db& db) {
    std::vector<QueuedWaiter> waiters;
    Stmt select = db.prepare("SELECT id, owner, turn, ticket FROM waiter ORDER BY ticket");
    while (select.step()) {
        QueuedWaiter waiter;
        waiter.id = select.text();
        waiter.owner = select.text();
        waiter.turn = select.integer();
        waiter.ticket = select.integer();
        waiters.push_back(std::move(waiter));
    }
    return waiters;
}

std::map<std::string, std::uint64_t> open_sessions(const Db& db) {
    std::map<std::string, std::uint64_t> open;
    // A lost session's container is gone, and so is its place.
    Stmt count = db.prepare("SELECT owner, COUNT(*) FROM session WHERE state NOT IN ('destroyed', 'expired', 'lost') GROUP BY owner");
    while (count.step()) {
        const std::string owner = count.text();
        open[owner] = static_cast<std::uint64_t>(count.integer());
    }
    return open;
}

QueueView view_of(const Db& db, const Layout& layout) {
    QueueView view{open_sessions(db), {}};
    for (auto& waiter : read_waiters(db)) {
        if (lives(layout, waiter)) view.waiting.push_back(std::move(waiter));
    }
    return view;
}

std::int64_t served_turn(const Db& db) {
    Stmt select = db.prepare("SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?");
    return select.bind(k_served_turn).step() ? select.integer() : 0;
}

void leave(Db& db, std::string_view id) { db.prepare("DELETE FROM waiter WHERE id = ?").bind(id).run(); }

} // namespace

QueueTicket Store::enter_queue(std::string_view owner) {
    const std::string id = random_hex(8);
    // The lock first: a row without one is that of a dead waiter.
    QueueTicket ticket{id, FileLock::acquire(lock_of(m_impl->layout, id))};
    try {
        const auto use = m_impl->writing();
        Txn txn(use.db);
        // Start-time fair queueing: an owner's next waiter comes a turn after the one before it, and never before the turn
        // that is being served. So one owner with many waiters holds up nobody, and newcomers overtake nobody for ever.
        use.db.prepare("INSERT INTO waiter (id, owner, turn) VALUES (?1, ?2, "
                       "1 + MAX(?3, COALESCE((SELECT MAX(turn) FROM waiter WHERE owner = ?2), 0)))")
            .bind(id, owner, served_turn(use.db))
            .run();
        txn.commit();
    } catch (const Error&) {
        ticket.lock.remove_file();
        throw;
    }
    return ticket;
}

bool Store::insert_if(const SessionRow& row, const QueueTicket& ticket, const PlaceRule& rule) {
    {
        // Most looks end here: with no place for anybody, nobody else needs to be looked at, and nothing written that all
        // the others would have to wait for.
        const auto use = m_impl->reading();
        if (!rule({open_sessions(use.db), {{ticket.id, row.owner, 0, 0}}}, ticket.id)) return false;
        if (!rule(view_of(use.db, m_impl->layout), ticket.id)) return false;
    }
    const auto use = m_impl->writing();
    Txn txn(use.db);
    const QueueView view = view_of(use.db, m_impl->layout);
    if (!rule(view, ticket.id)) return false;
    for (const auto& waiter : view.waiting) {
        if (waiter.id != ticket.id || waiter.turn <= served_turn(use.db)) continue;
        use.db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)").bind(k_served_turn, std::to_string(waiter.turn)).run();
    }
    leave(use.db, ticket.id);
    insert_in(use.db, row);
    txn.commit();
    return true;
}

void Store::leave_queue(QueueTicket& ticket) {
    // The row first: while the lock is held, nobody takes it for another's.
    {
        const auto use = m_impl->writing();
        leave(use.db, ticket.id);
    }
    ticket.lock.remove_file();
}

void Store::forget_dead_waiters() {
    const auto use = m_impl->writing();
    for (const auto& waiter : read_waiters(use.db)) {
        if (!lives(m_impl->layout, waiter)) leave(use.db, waiter.id);
    }
    // Every file whose lock is free: also those of waiters that died before they had a row.
    for (const auto& entry : std::filesystem::directory_iterator(m_impl->layout.locks())) {
        if (!entry.path().filename().string().starts_with(".waiter-")) continue;
        if (auto lock = FileLock::try_acquire(entry.path().string())) lock->remove_file();
    }
}

} // namespace sandbox::state
