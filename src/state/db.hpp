// SPDX-License-Identifier: Apache-2.0
// SQLite as objects: a connection, a statement, a transaction that rolls back unless it was committed. sqlite3.h stays
// in db.cpp.
//
//   Txn txn(db);
//   db.prepare("UPDATE session SET state = ? WHERE id = ?").bind("running", id).run();
//   txn.commit();
#pragma once

#include "util/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace sandbox::state {

// The file is no database, or one with damaged pages. Callers outside of state/ see a plain Error.
class DamagedDatabase : public Error {
  public:
    explicit DamagedDatabase(std::string message) : Error(ErrorCode::io_error, std::move(message)) {
        hint("the next command sets the file aside and starts a new one");
    }
};

// The file beside a database that says: a damaged page was met, check the whole before the next use.
std::string suspect_mark(const std::string& path);

// One statement; parameters are bound and columns are read from left to right.
class Stmt {
  public:
    Stmt(sqlite3* db, std::string_view sql);
    Stmt(Stmt&& other) noexcept;
    Stmt& operator=(Stmt&&) = delete;
    ~Stmt();

    // Binds the next parameters: texts (any bytes) and integers.
    template <typename... Values> Stmt& bind(const Values&... values) {
        (bind_one(values), ...);
        return *this;
    }
    // True when there is a row to read. Throws exists for a unique or primary key that is taken, busy when a writer
    // held the database for too long, no_space, DamagedDatabase; else io_error or internal.
    bool step();
    // For statements without rows.
    void run();
    // Makes the statement ready for new parameters.
    void reset();

    std::string text();
    std::int64_t integer();
    bool boolean() { return integer() != 0; }

  private:
    void bind_one(std::string_view value);
    void bind_one(std::int64_t value);
    void bind_one(bool value) { bind_one(std::int64_t{value ? 1 : 0}); }
    void bind_one(const char* value) { bind_one(std::string_view(value)); }

    sqlite3* m_db;
    sqlite3_stmt* m_stmt = nullptr;
    int m_parameter = 0;
    int m_column = 0;
};

class Db {
  public:
    // snapshot: the file alone, without locks and journals; see Snapshot.
    enum class Access { read_only, read_write, snapshot };

    // Opens an existing file, or makes it (0600) for read_write. Throws not_found, DamagedDatabase, io_error. A
    // connection must not cross a fork.
    Db(std::string path, Access access);
    Db(const Db&) = delete;
    Db& operator=(const Db&) = delete;
    ~Db();

    const std::string& path() const { return m_path; }
    // One or more statements without parameters and rows.
    void exec(const char* sql);
    Stmt prepare(std::string_view sql) const { return {m_db, sql}; }
    std::int64_t pragma(const char* name) const;
    // Rows that the last INSERT, UPDATE or DELETE touched.
    std::int64_t changes() const;

  private:
    std::string m_path;
    sqlite3* m_db = nullptr;
};

// A database that nobody has open for writing has no write-ahead log beside it, and its file can be read as it lies there:
// a third of what opening it properly costs, most of which is making and removing the journals. What was read holds only
// if nothing was written meanwhile, so it is asked before and after, and read again properly where it was.
class Snapshot {
  public:
    // Absent when a log is there, and where the last write is so new that another one might not be seen.
    static std::optional<Snapshot> take(const std::string& path);
    bool is_current() const;

  private:
    explicit Snapshot(std::string path) : m_path(std::move(path)) {}
    std::string m_path;
    struct stat m_before {};
};

class Txn {
  public:
    // Takes the write lock at once, waiting for other writers: a transaction that starts by reading and then writes
    // would fail instead of wait.
    explicit Txn(Db& db);
    Txn(const Txn&) = delete;
    Txn& operator=(const Txn&) = delete;
    ~Txn();
    void commit();

  private:
    Db& m_db;
    bool m_open = true;
};

} // namespace sandbox::state
