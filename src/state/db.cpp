// SPDX-License-Identifier: Apache-2.0
#include "state/db.hpp"

#include "util/fd.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>
#include <utility>

namespace sandbox::state {
namespace {

constexpr int k_busy_timeout_ms = 30'000; // 200 writers on a slow disk take 10 s

// A damaged page shows only when it is read, in the middle of something. The mark makes the next opening look at the whole
// file, which would be too slow to do each time.
void mark_suspect(sqlite3* db) {
    const char* path = db != nullptr ? sqlite3_db_filename(db, "main") : nullptr;
    if (path == nullptr || *path == '\0') return;
    // A snapshot may look damaged only because somebody wrote.
    if (sqlite3_uri_boolean(path, "immutable", 0) != 0) return;
    const Fd mark(::open(suspect_mark(path).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

Error no_space(const std::string& message) {
    return Error(ErrorCode::no_space, message + ": no space left where the state is kept").hint("make room on that file system; sandbox destroy works all the same");
}

[[noreturn]] void throw_failure(sqlite3* db, int result) {
    const int extended = db != nullptr ? sqlite3_extended_errcode(db) : result;
    const int system = db != nullptr ? sqlite3_system_errno(db) : 0;
    const std::string message = std::string("state database: ") + (db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(result));
    if (extended == SQLITE_CONSTRAINT_UNIQUE || extended == SQLITE_CONSTRAINT_PRIMARYKEY) throw Error(ErrorCode::exists, message);
    switch (result & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        mark_suspect(db);
        throw DamagedDatabase(message);
    // PROTOCOL: too many processes opened it in the same instant.
    case SQLITE_PROTOCOL:
    case SQLITE_BUSY: throw Error(ErrorCode::busy, message).hint("another sandbox is writing; try again");
    case SQLITE_FULL: throw no_space(message);
    case SQLITE_IOERR:
        if (system == ENOSPC || system == EDQUOT) throw no_space(message);
        throw Error(ErrorCode::io_error, message);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
        throw Error(ErrorCode::io_error, message).hint("the state directory must be writable; --state-dir names another one");
    default: throw Error(ErrorCode::internal, message);
    }
}

void check(sqlite3* db, int result) {
    if (result != SQLITE_OK) throw_failure(db, result);
}

// SQLite would make the file readable for all, and its journals after it. O_EXCL, because closing any descriptor of a
// database that this process has open would drop SQLite's own locks on it (POSIX record locks).
void create_private(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file && errno != EEXIST) throw errno_error("cannot make " + path);
}

std::string snapshot_uri(const std::string& path) {
    std::string uri = "file:";
    for (const char c : path) {
        // What has a meaning in a URI (RFC 3986) is written as its code.
        if (c == '%' || c == '?' || c == '#') uri += "%" + to_hex(std::string_view(&c, 1));
        else uri += c;
    }
    return uri + "?immutable=1";
}

// An empty one holds nothing that the database's file has not: it is what an opening leaves that found a full disk.
bool has_log(const std::string& path) {
    struct stat log {};
    return ::stat((path + "-wal").c_str(), &log) == 0 && log.st_size > 0;
}

// The kernel stamps files by a clock that goes in steps (of 10 ms at most): what is written again within the step of the last write
// has the same times as before. Git calls such an entry racily clean. A write sets both times, so both have to be new.
bool may_change_unseen(const struct stat& file) {
    constexpr std::int64_t k_step_ns = 20'000'000;
    const auto in_ns = [](const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
    timespec now {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return std::min(in_ns(file.st_mtim), in_ns(file.st_ctim)) + k_step_ns > in_ns(now);
}

} // namespace

std::optional<Snapshot> Snapshot::take(const std::string& path) {
    Snapshot snapshot(path);
    if (has_log(path) || ::stat(path.c_str(), &snapshot.m_before) != 0 || may_change_unseen(snapshot.m_before)) return std::nullopt;
    return snapshot;
}

bool Snapshot::is_current() const {
    struct stat now {};
    const auto same = [](const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; };
    return ::stat(m_path.c_str(), &now) == 0 && !has_log(m_path) && now.st_ino == m_before.st_ino &&
           now.st_size == m_before.st_size && same(now.st_mtim, m_before.st_mtim) && same(now.st_ctim, m_before.st_ctim);
}

std::string suspect_mark(const std::string& path) { return path + ".suspect"; }

Stmt::Stmt(sqlite3* db, std::string_view sql) : m_db(db) {
    check(db, sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &m_stmt, nullptr));
}

Stmt::Stmt(Stmt&& other) noexcept
    : m_db(other.m_db), m_stmt(std::exchange(other.m_stmt, nullptr)), m_parameter(other.m_parameter), m_column(other.m_column) {}

Stmt::~Stmt() { sqlite3_finalize(m_stmt); }

void Stmt::bind_one(std::string_view value) {
    // A null pointer would bind NULL, and there is no NULL in this schema.
    const char* data = value.data() != nullptr ? value.data() : "";
    check(m_db, sqlite3_bind_text64(m_stmt, ++m_parameter, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Stmt::bind_one(std::int64_t value) { check(m_db, sqlite3_bind_int64(m_stmt, ++m_parameter, value)); }

bool Stmt::step() {
    m_column = 0;
    const int result = sqlite3_step(m_stmt);
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) throw_failure(m_db, result);
    return false;
}

void Stmt::run() {
    while (step()) {}
}

void Stmt::reset() {
    sqlite3_reset(m_stmt);
    m_parameter = 0;
}

std::string Stmt::text() {
    const int column = m_column++;
    // In this order: the conversion to text decides the size.
    const auto* data = static_cast<const char*>(static_cast<const void*>(sqlite3_column_text(m_stmt, column)));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(m_stmt, column));
    return data == nullptr ? std::string() : std::string(data, size);
}

std::int64_t Stmt::integer() { return sqlite3_column_int64(m_stmt, m_column++); }

Db::Db(std::string path, Access access) : m_path(std::move(path)) {
    if (access == Access::read_write) create_private(m_path);
    const int flags = access == Access::read_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    const std::string name = access == Access::snapshot ? snapshot_uri(m_path) : m_path;
    const int uri = access == Access::snapshot ? SQLITE_OPEN_URI : 0;
    const int result = sqlite3_open_v2(name.c_str(), &m_db, flags | uri | SQLITE_OPEN_NOMUTEX, nullptr);
    try {
        check(m_db, result);
        check(m_db, sqlite3_extended_result_codes(m_db, 1));
        check(m_db, sqlite3_busy_timeout(m_db, k_busy_timeout_ms));
        if (access == Access::read_write) exec("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL");
    } catch (...) {
        sqlite3_close_v2(m_db);
        throw;
    }
}

Db::~Db() { sqlite3_close_v2(m_db); }

void Db::exec(const char* sql) { check(m_db, sqlite3_exec(m_db, sql, nullptr, nullptr, nullptr)); }

std::int64_t Db::pragma(const char* name) const {
    Stmt stmt = prepare("PRAGMA " + std::string(name));
    return stmt.step() ? stmt.integer() : 0;
}

std::int64_t Db::changes() const { return sqlite3_changes64(m_db); }

Txn::Txn(Db& db) : m_db(db) { db.exec("BEGIN IMMEDIATE"); }

Txn::~Txn() {
    if (!m_open) return;
    try {
        m_db.exec("ROLLBACK");
    } catch (const Error&) {
        // SQLite rolled back by itself already (a full disk, an I/O error): what is wanted is done.
    }
}

void Txn::commit() {
    m_db.exec("COMMIT");
    m_open = false;
}

} // namespace sandbox::state
