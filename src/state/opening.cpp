// SPDX-License-Identifier: Apache-2.0
#include "state/opening.hpp"

#include "util/fs.hpp"
#include "util/time.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <unistd.h>

namespace sandbox::state {
namespace {

constexpr const char* k_instance_key = "instance";

bool is_suspect(const std::string& database) { return ::access(suspect_mark(database).c_str(), F_OK) == 0; }

void check_all_pages(const Db& db) {
    Stmt check = db.prepare("PRAGMA quick_check(1)");
    if (check.step() && check.text() == "ok") return;
    throw DamagedDatabase(db.path() + " is damaged");
}

std::optional<Opened> open_current(const Layout& layout, std::span<const Migration> known, Db::Access access) {
    if (is_suspect(layout.database())) return std::nullopt;
    auto identity = read_identity(layout.identity());
    if (!identity) return std::nullopt;
    auto db = std::make_unique<Db>(layout.database(), access);
    if (schema_of(*db, known) != SchemaStatus::current) return std::nullopt;
    return Opened{std::move(db), std::move(*identity), {}};
}

std::unique_ptr<Db> open_and_migrate(const Layout& layout, std::span<const Migration> known) {
    auto db = std::make_unique<Db>(layout.database(), Db::Access::read_write);
    if (is_suspect(layout.database())) check_all_pages(*db);
    if (schema_of(*db, known) != SchemaStatus::current) migrate(*db, known);
    return db;
}

// The database keeps a copy of the id, so that either one can be lost.
std::optional<std::string> instance_in(const Db& db) {
    Stmt stmt = db.prepare("SELECT value FROM meta WHERE key = ?");
    if (!stmt.bind(k_instance_key).step()) return std::nullopt;
    std::string id = stmt.text();
    if (!is_instance_id(id)) return std::nullopt;
    return id;
}

Identity settle_identity(const Layout& layout, Db& db) {
    auto identity = read_identity(layout.identity());
    const auto copy = instance_in(db);
    if (!identity) {
        identity = Identity{copy ? *copy : new_instance_id(), machine_id()};
        write_identity(layout.identity(), *identity);
    }
    if (copy != identity->instance) {
        db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)").bind(k_instance_key, identity->instance).run();
    }
    return *identity;
}

// What an attempt that was killed before it moved the database has named: the log is still there under its first name.
void forget_lone_journals(const std::string& database, std::span<const char* const> suffixes) {
    const auto slash = database.rfind('/') + 1;
    const std::string prefix = database.substr(slash) + ".broken-";
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(database.substr(0, slash), failure)) {
        const std::string path = entry.path().string();
        for (const std::string_view suffix : suffixes) {
            if (!entry.path().filename().string().starts_with(prefix) || !path.ends_with(suffix)) continue;
            if (::access(path.substr(0, path.size() - suffix.size()).c_str(), F_OK) != 0) ::unlink(path.c_str());
        }
    }
}

} // namespace

// The log holds what was written last, and is nothing without its database. So it gets its second name before the database moves,
// and loses its first one after: whoever is killed in between leaves both together, in the old place or in the new one. What is
// left under the old name then is of no database: SQLite removes it when it finds an empty one.
std::string set_aside(const std::string& database) {
    constexpr std::array k_suffixes{"-wal", "-shm", "-journal"};
    std::string aside = database + ".broken-" + format_rfc3339(wall_now_ms());
    for (int count = 2; ::access(aside.c_str(), F_OK) == 0; ++count) {
        aside = database + ".broken-" + format_rfc3339(wall_now_ms()) + "-" + std::to_string(count);
    }
    forget_lone_journals(database, k_suffixes);
    const auto give_name = [&](const std::string& suffix) {
        return ::link((database + suffix).c_str(), (aside + suffix).c_str()) == 0 || errno == ENOENT;
    };
    bool are_linked = true;
    for (const char* suffix : k_suffixes) are_linked = give_name(suffix) && are_linked;
    if (::rename(database.c_str(), aside.c_str()) != 0) throw errno_error("cannot set " + database + " aside");
    for (const char* suffix : k_suffixes) {
        // A file system without links: a log that stayed would be taken for the next database's.
        if (!are_linked) ::rename((database + suffix).c_str(), (aside + suffix).c_str());
        ::unlink((database + suffix).c_str());
    }
    return aside;
}

Opened open_database(const Layout& layout, std::span<const Migration> known) {
    try {
        if (auto opened = open_current(layout, known, Db::Access::read_write)) return std::move(*opened);
    } catch (const DamagedDatabase&) {
        // Decided below, where nobody else can be setting the same file aside.
    }
    const FileLock lock = FileLock::acquire(layout.other_lock("schema"));
    Opened opened;
    try {
        opened.db = open_and_migrate(layout, known);
    } catch (const DamagedDatabase& error) {
        const std::string aside = set_aside(layout.database());
        opened.db = open_and_migrate(layout, known);
        opened.warning = error.message() + "; it was set aside as " + aside + " and a new one was started";
    }
    ::unlink(suspect_mark(layout.database()).c_str());
    opened.identity = settle_identity(layout, *opened.db);
    return opened;
}

Opened open_database_for_lookup(const Layout& layout, std::span<const Migration> known) {
    try {
        auto snapshot = Snapshot::take(layout.database());
        const auto access = snapshot ? Db::Access::snapshot : Db::Access::read_only;
        if (auto opened = open_current(layout, known, access)) {
            opened->snapshot = std::move(snapshot);
            return std::move(*opened);
        }
    } catch (const Error&) {
        // Whatever it is, opening for writing repairs it or says it.
    }
    return {};
}

} // namespace sandbox::state
