// SPDX-License-Identifier: Apache-2.0
// The state directory and its database: rows before effects, kernel locks instead of "busy" flags.
//
//   Store store = Store::open(state_directory);
//   auto lock = store.lock_session(row.id);
//   store.insert(row);
#pragma once

#include "state/queue.hpp"
#include "state/rows.hpp"
#include "util/fs.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::state {

// Where one engine's agent volume was filled; trusted only while the volume's creation time is the same.
struct AgentVolumeRow {
    std::string engine_id;
    std::string volume;
    std::string created_at; // as the engine says it
};

// What is left below the state directory of a session without an open row.
struct Leftover {
    std::string session;
    bool locked = false;
    std::int64_t modified_ms = 0;
};

// Whether a full disk may be met with the space that is kept for ending sessions.
enum class Reserve { keep, give_up };

struct LockedSession {
    FileLock lock;
    SessionRow row;
};

// May be used by several threads; must not cross a fork.
class Store {
  public:
    // Opens or makes the directory (0700) and database, running pending migrations under a lock. A newer schema is
    // `failed` with a hint; a directory that others may enter is tightened or refused (denied); a database file that is not one is
    // set aside as state.db.broken-<time> with `warning()` set, and a new one takes its place with the SAME instance id
    // (kept in the file `instance` beside it).
    static Store open(const std::string& directory, Reserve reserve = Reserve::keep);
    // For the exec path: opens read-only without migrations where the schema is current, else like open().
    static Store open_for_lookup(const std::string& directory, Reserve reserve = Reserve::keep);
    // Read-only as well, and absent where the directory or the database is not as it should be: nothing is made, migrated
    // or repaired.
    static std::optional<Store> peek(const std::string& directory);
    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    ~Store();

    const std::string& directory() const;
    // Gives the space kept for hard times back to a full disk; false when that was done already. The next open() on a
    // disk with room keeps new space.
    bool free_reserve() const;
    const std::string& warning() const;      // empty: nothing was repaired
    const std::string& instance() const;     // 16 hex digits, random, made once
    bool is_on_its_machine() const;          // false when /etc/machine-id differs from the one it was made on
    void adopt_machine();                    // doctor --repair: this machine is its machine from now on
    // doctor --repair --instance: another id from now on, that of objects whose own state was lost whole. Throws conflict where
    // there are open sessions or workspaces, usage for what is no instance's id.
    void adopt_instance(const std::string& instance);
    std::string session_directory(std::string_view id) const; // <dir>/sessions/<id>, not created

    // Throws exists with the holder's id in the message when the owner already has an open session of this name, or
    // when an exclusive lease on the same workspace is held by an open session (a lost one holds none: its container is
    // gone).
    void insert(const SessionRow& row);
    // Throws exists where insert() would.
    void check_is_free(const SessionRow& row) const;
    // Writes every column of an existing row. Throws internal when there is none, exists like insert().
    void update(const SessionRow& row);
    // Compare-and-set of the state alone, between open states; false when the row is in another state by now. Leaving
    // `lost` takes the lease again: throws exists when it is held.
    bool transition(std::string_view id, SessionState from, SessionState to, std::string_view reason);
    // Marks destroyed or expired, frees the name and lease, stamps closed_ms. A row that is closed already stays as it
    // is. Throws internal when there is none.
    void close(std::string_view id, SessionState closed_as, std::string_view reason);
    void erase(std::string_view id); // tombstones past their time

    std::optional<SessionRow> find(std::string_view id) const;
    // Exact name within one owner: the open one, else the newest closed one.
    std::optional<SessionRow> find_by_name(std::string_view owner, std::string_view name) const;
    // Whether another owner has an open session of that id or name (for the hint only).
    bool exists_for_other_owner(std::string_view owner, std::string_view id_or_name) const;
    // The open session that holds the exclusive lease on a workspace.
    std::optional<SessionRow> find_lease_holder(std::string_view owner, std::string_view workspace_id) const;
    struct Filter {
        std::optional<std::string> owner;          // absent: every owner (the caller said --all-owners)
        std::map<std::string, std::string> labels; // all must match
        bool include_closed = false;
    };
    std::vector<SessionRow> list(const Filter& filter) const; // by created_ms, then id
    // Open sessions past their TTL, oldest first, at most `limit`: what create and destroy take along.
    std::vector<SessionRow> overdue(std::int64_t wall_now, std::size_t limit) const;

    // Where the number of sessions is bounded: a waiter in the queue, and the session's row, inserted only if `rule` gives
    // this waiter a place, in one transaction with its leaving the queue. insert_if throws as insert() does.
    QueueTicket enter_queue(std::string_view owner);
    bool insert_if(const SessionRow& row, const QueueTicket& ticket, const PlaceRule& rule);
    void leave_queue(QueueTicket& ticket);
    void forget_dead_waiters();

    void put(const WorkspaceRow& row); // insert or replace
    std::optional<WorkspaceRow> find_workspace(std::string_view owner, std::string_view id) const;
    std::vector<WorkspaceRow> list_workspaces(const std::optional<std::string>& owner) const;
    void erase_workspace(std::string_view owner, std::string_view id);

    std::optional<AgentVolumeRow> find_agent_volume(std::string_view engine_id, std::string_view volume) const;
    void put(const AgentVolumeRow& row);

    // Kernel locks under <dir>/locks. try_* are absent when held by somebody else.
    FileLock lock_session(std::string_view id) const;
    std::optional<FileLock> try_lock_session(std::string_view id) const;
    // The same with the row as it is under the lock; absent too when the session is closed or gone, and no lock file stays then.
    std::optional<LockedSession> try_lock_open(std::string_view id) const;
    // Whether somebody is at work on it. Makes no file.
    bool is_session_locked(std::string_view id) const;
    FileLock lock_workspace(std::string_view owner, std::string_view id) const; // file name is a hash
    std::optional<FileLock> try_lock_gc() const;
    std::optional<FileLock> try_lock_sweep() const; // the one waiter that looks for places of dead sessions
    FileLock lock_agent_volume() const;
    // Removes the lock file of a closed session, held or not.
    void forget_lock(std::string_view id) const;
    // Removes the lock files of workspaces that have no row, unless they are held.
    void forget_workspace_locks() const;
    // Session directories and lock files without an open row, for gc.
    std::vector<Leftover> leftovers() const;
    // Removes the directory and the lock file of a session; false when it has an open row or somebody holds its lock.
    bool remove_leftover(std::string_view id) const;

  private:
    struct Impl;
    explicit Store(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

// Where the state is when nobody says: /var/lib/sandbox for root, else in the home directory. Empty where nothing can be derived.
std::string standard_state_directory();
// --state-dir value, else SANDBOX_STATE_DIR, else /var/lib/sandbox for root, else $XDG_STATE_HOME/sandbox, else
// ~/.local/state/sandbox. Relative paths become absolute. Throws usage when nothing can be derived.
std::string default_state_directory(const std::optional<std::string>& flag);

} // namespace sandbox::state
