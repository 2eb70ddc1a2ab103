// SPDX-License-Identifier: Apache-2.0
// The directory and the file: made, migrated, repaired, refused.
#include "rows_fixture.hpp"
#include "state/db.hpp"
#include "state/directory.hpp"
#include "state/instance.hpp"
#include "state/opening.hpp"
#include "state/schema.hpp"
#include "state/store.hpp"
#include "util/fs.hpp"
#include "util/time.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace sandbox;
using namespace sandbox::state;

namespace {

void write_file(const std::string& path, const std::string& text) {
    AtomicFile file(AT_FDCWD, path, 0600);
    write_all(file.fd(), text);
    file.publish();
}

void overwrite(const std::string& path, off_t offset, const std::string& text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(file.get(), text.data(), text.size(), offset) == static_cast<ssize_t>(text.size()));
}

mode_t mode_of(const std::string& path) {
    struct stat info{};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    return info.st_mode & 07777;
}

std::size_t files_in(const std::string& directory, std::string_view part) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        if (entry.path().filename().string().find(part) != std::string::npos) ++count;
    }
    return count;
}

std::vector<std::string> set_aside_in(const std::string& directory) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        const std::string name = entry.path().filename().string();
        // Not their journals, state.db.broken-<time>-wal.
        if (name.starts_with("state.db.broken-") && !name.ends_with("-wal") && !name.ends_with("-shm")) found.push_back(entry.path().string());
    }
    return found;
}

class Variable {
  public:
    Variable(const char* name, const char* value) : m_name(name) {
        const char* before = std::getenv(name);
        if (before != nullptr) m_before = before;
        if (value != nullptr) ::setenv(name, value, 1);
        else ::unsetenv(name);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() {
        if (m_before) ::setenv(m_name, m_before->c_str(), 1);
        else ::unsetenv(m_name);
    }

  private:
    const char* m_name;
    std::optional<std::string> m_before;
};

} // namespace

TEST_CASE("state directory: made private, with its parts") {
    TempDir parent;
    const std::string directory = parent.path() + "/a/state";
    const Store store = Store::open(directory);
    for (const char* part : {"", "/sessions", "/locks"}) CHECK(mode_of(directory + part) == 0700);
    for (const char* part : {"/state.db", "/instance"}) CHECK(mode_of(directory + part) == 0600);
    CHECK(store.directory() == directory);
    CHECK(store.warning().empty());
    CHECK(store.session_directory("s1") == directory + "/sessions/s1");
    CHECK_FALSE(std::filesystem::exists(directory + "/sessions/s1"));
    for (const char* id : {"", ".", "..", "../x", "a/b", ".x"}) {
        CHECK(failure_of([&] { (void)store.session_directory(id); }).code() == ErrorCode::internal);
    }
}

TEST_CASE("state directory: one that others may enter is tightened or refused") {
    TempDir parent;
    const std::string directory = parent.path() + "/state";
    std::filesystem::create_directory(directory);
    SUBCASE("empty: tightened") {
        ::chmod(directory.c_str(), 0777);
        Store::open(directory);
        CHECK(mode_of(directory) == 0700);
    }
    SUBCASE("ours: tightened, also for a look-up") {
        Store::open(directory);
        ::chmod(directory.c_str(), 0755);
        Store::open_for_lookup(directory);
        CHECK(mode_of(directory) == 0700);
    }
    SUBCASE("somebody's home: refused and left as it is") {
        write_file(directory + "/.profile", "");
        ::chmod(directory.c_str(), 0755);
        const Error error = failure_of([&] { Store::open(directory); });
        CHECK(error.code() == ErrorCode::denied);
        CHECK_FALSE(error.hint().empty());
        CHECK(mode_of(directory) == 0755);
        CHECK_FALSE(std::filesystem::exists(directory + "/state.db"));
    }
    SUBCASE("another user's: refused") {
        if (::geteuid() == 0) {
            REQUIRE(::chown(directory.c_str(), 12345, 12345) == 0);
            CHECK(failure_of([&] { Store::open(directory); }).code() == ErrorCode::denied);
        }
    }
    SUBCASE("a file") {
        write_file(directory + "/f", "");
        CHECK(failure_of([&] { Store::open(directory + "/f"); }).code() == ErrorCode::failed);
    }
}

TEST_CASE("state directory: where it is by default") {
    const Variable no_flag("SANDBOX_STATE_DIR", nullptr);
    CHECK(default_state_directory("/x/y/") == "/x/y");
    CHECK(default_state_directory("/x/../y") == "/y");
    CHECK(default_state_directory("/") == "/");
    CHECK(default_state_directory("rel") == std::filesystem::current_path().string() + "/rel");
    CHECK(failure_of([] { default_state_directory(""); }).code() == ErrorCode::usage);
    {
        const Variable set("SANDBOX_STATE_DIR", "/from/env");
        CHECK(default_state_directory(std::nullopt) == "/from/env");
        CHECK(default_state_directory("/flag") == "/flag");
    }
    if (::geteuid() == 0) {
        const Variable empty("SANDBOX_STATE_DIR", "");
        CHECK(default_state_directory(std::nullopt) == "/var/lib/sandbox");
    }
}

TEST_CASE("state directory: the XDG places of an ordinary user") {
    if (::geteuid() == 0 && ::seteuid(12345) != 0) return;
    const Variable no_flag("SANDBOX_STATE_DIR", nullptr);
    const Variable home("HOME", "/home/u");
    {
        const Variable xdg("XDG_STATE_HOME", "/xdg");
        CHECK(default_state_directory(std::nullopt) == "/xdg/sandbox");
    }
    {
        const Variable xdg("XDG_STATE_HOME", "not/absolute");
        CHECK(default_state_directory(std::nullopt) == "/home/u/.local/state/sandbox");
    }
    {
        const Variable xdg("XDG_STATE_HOME", nullptr);
        const Variable homeless("HOME", nullptr);
        CHECK(failure_of([] { default_state_directory(std::nullopt); }).code() == ErrorCode::usage);
    }
    if (::getuid() == 0) CHECK(::seteuid(0) == 0);
}

TEST_CASE("database: an empty file is a new one") {
    TempDir directory;
    write_file(directory.path() + "/state.db", "");
    Store store = Store::open(directory.path());
    CHECK(store.warning().empty());
    store.insert(plain_row("s1"));
    CHECK(set_aside_in(directory.path()).empty());
}

TEST_CASE("database: garbage is set aside and the instance stays") {
    TempDir directory;
    const std::string database = directory.path() + "/state.db";
    const std::string instance = Store::open(directory.path()).instance();
    const std::string garbage(10000, 'g');
    write_file(database, garbage);

    SUBCASE("by open") {
        Store store = Store::open(directory.path());
        CHECK(store.warning().find("state.db.broken-") != std::string::npos);
        CHECK(store.instance() == instance);
        store.insert(plain_row("s1"));
    }
    SUBCASE("by a look-up") {
        Store store = Store::open_for_lookup(directory.path());
        CHECK_FALSE(store.warning().empty());
        CHECK(store.instance() == instance);
        CHECK_FALSE(store.find("s1"));
    }
    const auto aside = set_aside_in(directory.path());
    REQUIRE(aside.size() == 1);
    CHECK(read_file(aside[0]) == garbage);
    CHECK(Store::open(directory.path()).warning().empty());
    write_file(database, garbage);
    CHECK_FALSE(Store::open(directory.path()).warning().empty());
    CHECK(set_aside_in(directory.path()).size() == 2);
}

namespace {

// Runs `body` in a process that is killed when it has entered and left its kernel `steps` times; false: it came to its end before.
bool is_killed_after(int steps, const std::function<void()>& body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        ::raise(SIGSTOP);
        body();
        ::_exit(0);
    }
    int status = 0;
    for (int step = 0; step <= steps; ++step) {
        REQUIRE(::waitpid(pid, &status, 0) == pid);
        if (WIFEXITED(status)) return false;
        if (step < steps) REQUIRE(::ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr) == 0);
    }
    ::kill(pid, SIGKILL);
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    return true;
}

} // namespace

TEST_CASE("database: whoever is killed while it is set aside leaves it with its log, here or there") {
    bool is_killed = true;
    for (int steps = 1; is_killed; ++steps) {
        CAPTURE(steps);
        const TempDir directory;
        const std::string database = directory.path() + "/state.db";
        Store::open(directory.path());
        write_file(database, "database");
        write_file(database + "-wal", "what was written last");
        is_killed = is_killed_after(steps, [&] { set_aside(database); });
        const auto found = set_aside_in(directory.path());
        const std::string whole = found.empty() ? database : found.front();
        CHECK(read_file(whole) == "database");
        CHECK(read_file(whole + "-wal") == "what was written last");
        // And the next attempt leaves no log without its database.
        if (found.empty()) {
            const std::string aside = set_aside(database);
            CHECK(read_file(aside + "-wal") == "what was written last");
            CHECK(files_in(directory.path(), ".broken-") == 2);
        }
        // And the next one begins with no other's log.
        Store::open(directory.path()).insert(plain_row("s1"));
        CHECK(Store::open(directory.path()).find("s1"));
        REQUIRE(steps < 1000);
    }
    CHECK_FALSE(is_killed);
}

TEST_CASE("database: a cut or foreign one is set aside") {
    TempDir directory;
    const std::string database = directory.path() + "/state.db";
    const std::string instance = Store::open(directory.path()).instance();
    SUBCASE("cut") { REQUIRE(::truncate(database.c_str(), 6000) == 0); }
    SUBCASE("cut to a few bytes") { REQUIRE(::truncate(database.c_str(), 10) == 0); }
    SUBCASE("another program's") {
        ::unlink(database.c_str());
        Db(database, Db::Access::read_write).exec("CREATE TABLE bookmarks (url TEXT)");
    }
    Store store = Store::open(directory.path());
    CHECK_FALSE(store.warning().empty());
    CHECK(store.instance() == instance);
    store.insert(plain_row("s1"));
    CHECK(set_aside_in(directory.path()).size() == 1);
}

TEST_CASE("database: a damaged page is met once, then the file is set aside") {
    TempDir directory;
    const std::string database = directory.path() + "/state.db";
    {
        Store store = Store::open(directory.path());
        for (int i = 0; i < 200; ++i) {
            SessionRow row = plain_row("s" + std::to_string(i));
            row.manifest_json = std::string(3000, 'm');
            store.insert(row);
        }
    }
    const auto size = static_cast<off_t>(std::filesystem::file_size(database));
    for (off_t page = 40; page * 4096 < size; ++page) overwrite(database, page * 4096, std::string(4096, '\x7f'));

    Store hit = Store::open(directory.path());
    const Error error = failure_of([&] { (void)hit.list({}); });
    CHECK(error.code() == ErrorCode::io_error);
    CHECK_FALSE(error.hint().empty());

    Store store = Store::open_for_lookup(directory.path());
    CHECK_FALSE(store.warning().empty());
    CHECK(store.list({}).empty());
    CHECK(set_aside_in(directory.path()).size() == 1);
    CHECK(Store::open(directory.path()).warning().empty());
}

TEST_CASE("database: a false alarm changes nothing") {
    TempDir directory;
    Store::open(directory.path()).insert(plain_row("s1"));
    write_file(suspect_mark(directory.path() + "/state.db"), "");
    const Store store = Store::open(directory.path());
    CHECK(store.warning().empty());
    CHECK(store.find("s1"));
    CHECK_FALSE(std::filesystem::exists(suspect_mark(directory.path() + "/state.db")));
}

TEST_CASE("database: one that was written this very moment is not read without locks") {
    const TempDir directory;
    const std::string database = directory.path() + "/state.db";
    Store::open(directory.path()).insert(plain_row("s1"));
    const auto written_ago = [&](std::int64_t milliseconds) {
        timespec now {};
        ::clock_gettime(CLOCK_REALTIME, &now);
        const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, timespec{now.tv_sec - milliseconds / 1000, now.tv_nsec}};
        REQUIRE(::utimensat(AT_FDCWD, database.c_str(), times.data(), 0) == 0); // which makes its ctime now
    };
    bool is_told = false;
    while (!is_told) { // a machine that was busy in between tells nothing
        const std::int64_t start = boot_now_ms();
        written_ago(0);
        const bool is_taken = Snapshot::take(database).has_value();
        if (boot_now_ms() - start >= 15) continue;
        CHECK_FALSE(is_taken);
        is_told = true;
    }
    CHECK(Store::open_for_lookup(directory.path()).find("s1"));
    written_ago(3'600'000);
    CHECK(Snapshot::take(database).has_value());
}

TEST_CASE("instance: made once, and survives the loss of either copy") {
    TempDir directory;
    const std::string instance = Store::open(directory.path()).instance();
    CHECK(is_instance_id(instance));
    CHECK(Store::open(directory.path()).instance() == instance);
    CHECK(Store::open_for_lookup(directory.path()).instance() == instance);
    SUBCASE("the file is gone") { ::unlink((directory.path() + "/instance").c_str()); }
    SUBCASE("the file is empty") { write_file(directory.path() + "/instance", ""); }
    SUBCASE("the file is garbage") { write_file(directory.path() + "/instance", std::string(100000, '\xff')); }
    SUBCASE("the file's id is not one") { write_file(directory.path() + "/instance", "instance=../x\nmachine=\n"); }
    SUBCASE("the database is gone") { ::unlink((directory.path() + "/state.db").c_str()); }
    SUBCASE("both are damaged in turn") {
        ::unlink((directory.path() + "/state.db").c_str());
        Store::open(directory.path());
        ::unlink((directory.path() + "/instance").c_str());
    }
    CHECK(Store::open_for_lookup(directory.path()).instance() == instance);
    CHECK(read_identity(directory.path() + "/instance")->instance == instance);
    TempDir other;
    CHECK(Store::open(other.path()).instance() != instance);
}

TEST_CASE("instance: a moved directory knows it, until it is adopted") {
    TempDir directory;
    Store::open(directory.path());
    Identity identity = *read_identity(directory.path() + "/instance");
    CHECK(identity.machine == machine_id());
    identity.machine = "00000000000000000000000000000001";
    write_identity(directory.path() + "/instance", identity);
    Store store = Store::open(directory.path());
    CHECK_FALSE(store.is_on_its_machine());
    CHECK(store.instance() == identity.instance);
    store.adopt_machine();
    CHECK(store.is_on_its_machine());
    CHECK(Store::open_for_lookup(directory.path()).is_on_its_machine());
    CHECK(Store::open(directory.path()).instance() == identity.instance);
}

TEST_CASE("instance: a machine without an id is equal to itself") {
    TempDir directory;
    const std::string path = directory.path() + "/machine-id";
    CHECK(machine_id(path).empty());
    write_file(path, "");
    CHECK(machine_id(path).empty());
    write_file(path, "uninitialized\n");
    CHECK(machine_id(path).empty());
    write_file(path, "3d1219c7c4c5404aaa1f6d2a48adfda4\n");
    CHECK(machine_id(path) == "3d1219c7c4c5404aaa1f6d2a48adfda4");
    write_file(path, "3d1219c7c4c5404aaa1f6d2a48adfda4");
    CHECK(machine_id(path) == "3d1219c7c4c5404aaa1f6d2a48adfda4");
    write_file(path, std::string(100000, 'a'));
    CHECK(machine_id(path).empty());

    write_identity(directory.path() + "/instance", {"0123456789abcdef", ""});
    CHECK(read_identity(directory.path() + "/instance")->machine.empty());
}

TEST_CASE("schema: a newer one is its own error and left alone") {
    TempDir directory;
    const Layout layout{directory.path()};
    Store::open(directory.path());
    std::vector<Migration> newer(migrations().begin(), migrations().end());
    newer.push_back({"9999-later", "CREATE TABLE later (x INTEGER)"});
    open_database(layout, newer);

    for (const bool lookup : {false, true}) {
        const Error error = failure_of([&] { lookup ? Store::open_for_lookup(directory.path()) : Store::open(directory.path()); });
        CHECK(error.code() == ErrorCode::failed);
        CHECK(error.message().find("newer") != std::string::npos);
        CHECK_FALSE(error.hint().empty());
    }
    CHECK(set_aside_in(directory.path()).empty());
    CHECK(open_database(layout, newer).db->prepare("SELECT count(*) FROM later").step());
}

TEST_CASE("schema: an older one is brought up to date and keeps its rows") {
    TempDir directory;
    const Layout layout{directory.path()};
    std::filesystem::create_directory(layout.locks());
    {
        const Opened old = open_database(layout, migrations().first(1));
        CHECK(schema_of(*old.db, migrations()) == SchemaStatus::old);
        old.db->exec("INSERT INTO session VALUES ('s1','','uid:0','running','','','','','','',0,'socket','','','',1,2,3,'',4,0,'')");
    }
    const Store store = Store::open_for_lookup(directory.path());
    CHECK(store.find("s1")->state == SessionState::running);
    CHECK(store.list_workspaces(std::nullopt).empty());
}

TEST_CASE("schema: a migration that fails leaves the one before it") {
    TempDir directory;
    const Layout layout{directory.path()};
    std::filesystem::create_directory(layout.locks());
    const std::array broken{migrations()[0], Migration{"0002-broken", "CREATE TABLE half (x INTEGER); CREATE TABLE session (x INTEGER)"}};
    CHECK(failure_of([&] { open_database(layout, broken); }).code() == ErrorCode::internal);
    Db db(layout.database(), Db::Access::read_write);
    CHECK(schema_of(db, std::span(broken).first(1)) == SchemaStatus::current);
    CHECK_FALSE(db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'half'").step());
}

TEST_CASE("schema: write-ahead log, foreign keys and full synchronisation are on") {
    TempDir directory;
    Store::open(directory.path());
    const Db db(directory.path() + "/state.db", Db::Access::read_write);
    Stmt mode = db.prepare("PRAGMA journal_mode");
    REQUIRE(mode.step());
    CHECK(mode.text() == "wal");
    CHECK(db.pragma("foreign_keys") == 1);
    CHECK(db.pragma("synchronous") == 2);
}

TEST_CASE("db: a transaction that is not committed never was") {
    TempDir directory;
    Db db(directory.path() + "/x.db", Db::Access::read_write);
    db.exec("CREATE TABLE t (x INTEGER PRIMARY KEY)");
    {
        const Txn txn(db);
        db.exec("INSERT INTO t VALUES (1)");
    }
    CHECK_FALSE(db.prepare("SELECT 1 FROM t").step());
    {
        Txn txn(db);
        db.exec("INSERT INTO t VALUES (1)");
        txn.commit();
    }
    CHECK(db.prepare("SELECT 1 FROM t").step());
    CHECK(failure_of([&] { db.prepare("INSERT INTO t VALUES (1)").run(); }).code() == ErrorCode::exists);
    CHECK(failure_of([&] { db.exec("SELECT nonsense"); }).code() == ErrorCode::internal);
    CHECK(failure_of([&] { Db(directory.path() + "/none.db", Db::Access::read_only); }).code() == ErrorCode::io_error);
    CHECK_FALSE(std::filesystem::exists(directory.path() + "/none.db"));
}

TEST_CASE("locks: exclusive, by session, workspace and purpose") {
    TempDir directory;
    const Store store = Store::open(directory.path());
    {
        const FileLock lock = store.lock_session("s1");
        CHECK_FALSE(store.try_lock_session("s1"));
        CHECK(store.try_lock_session("s2"));
        CHECK(store.try_lock_gc());
        const FileLock workspace = store.lock_workspace("uid:0", "project-42");
        const FileLock foreign = store.lock_workspace("a/../b c\n", "project-42");
        const FileLock agent = store.lock_agent_volume();
    }
    CHECK(store.try_lock_session("s1"));
    const auto gc = store.try_lock_gc();
    CHECK_FALSE(store.try_lock_gc());
    CHECK(failure_of([&] { (void)store.lock_session("../x"); }).code() == ErrorCode::internal);

    FileLock held = store.lock_session("s1");
    store.forget_lock("s1");
    store.forget_lock("s1");
    CHECK_FALSE(std::filesystem::exists(directory.path() + "/locks/s1"));
}

TEST_CASE("locks: who comes too late to a session brings no file back") {
    const TempDir directory;
    Store store = Store::open(directory.path());
    store.insert(plain_row("s1"));
    const auto has_file = [&] { return std::filesystem::exists(directory.path() + "/locks/s1"); };
    {
        const auto held = store.try_lock_open("s1");
        REQUIRE(held);
        CHECK(held->row.id == "s1");
        CHECK(store.is_session_locked("s1"));
        CHECK_FALSE(store.try_lock_open("s1"));
    }
    store.close("s1", SessionState::destroyed, "");
    store.forget_lock("s1");
    CHECK_FALSE(store.is_session_locked("s1"));
    CHECK_FALSE(store.try_lock_open("s1"));
    CHECK_FALSE(has_file());
    store.erase("s1");
    CHECK_FALSE(store.try_lock_open("s1"));
    CHECK_FALSE(has_file());
}

TEST_CASE("locks: those of workspaces that are gone go by themselves") {
    TempDir directory;
    Store store = Store::open(directory.path());
    const auto workspace_locks = [&] {
        int count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(directory.path() + "/locks")) {
            if (entry.path().filename().string().starts_with(".workspace-")) ++count;
        }
        return count;
    };
    WorkspaceRow row;
    row.owner = "uid:0";
    row.id = "kept";
    store.put(row);
    for (const char* id : {"kept", "gone", "gone-too"}) (void)store.lock_workspace("uid:0", id);
    const FileLock held = store.lock_workspace("uid:0", "held");
    CHECK(workspace_locks() == 4);
    store.forget_workspace_locks();
    CHECK(workspace_locks() == 2);
    store.erase_workspace("uid:0", "kept");
    store.forget_workspace_locks();
    CHECK(workspace_locks() == 1);
    CHECK(store.leftovers().empty());
}

TEST_CASE("leftovers: what has no open row, and nothing else") {
    TempDir directory;
    Store store = Store::open(directory.path());
    const auto make = [&](const std::string& id) { std::filesystem::create_directory(store.session_directory(id)); };
    for (const char* id : {"s1", "s2", "s3"}) make(id);
    store.insert(plain_row("s1"));
    store.insert(plain_row("s2"));
    store.close("s2", SessionState::destroyed, "");
    { const FileLock stale = store.lock_session("s4"); }
    const FileLock held = store.lock_session("s5");
    const FileLock others = store.lock_workspace("uid:0", "w");

    const auto found = store.leftovers();
    std::string told;
    for (const auto& leftover : found) {
        told += leftover.session + (leftover.locked ? "(locked) " : " ");
        CHECK(leftover.modified_ms > 1'600'000'000'000);
    }
    CHECK(told == "s2 s3 s4 s5(locked) ");

    CHECK_FALSE(store.remove_leftover("s1"));
    CHECK_FALSE(store.remove_leftover("s5"));
    for (const char* id : {"s2", "s3", "s4"}) CHECK(store.remove_leftover(id));
    CHECK(store.leftovers().size() == 1);
    CHECK(std::filesystem::exists(store.session_directory("s1")));
    CHECK_FALSE(std::filesystem::exists(store.session_directory("s3")));
    CHECK_FALSE(std::filesystem::exists(directory.path() + "/locks/s4"));
}

TEST_CASE("the reserve is whole again after a process that made it was killed half-way") {
    TempDir directory;
    const std::string reserve = directory.path() + "/reserve";
    const auto size_of = [&] {
        struct stat info {};
        REQUIRE(::stat(reserve.c_str(), &info) == 0);
        return info.st_size;
    };
    { const Store store = Store::open(directory.path()); }
    const auto whole = size_of();
    REQUIRE(whole > 0);
    REQUIRE(::truncate(reserve.c_str(), 0) == 0);
    { const Store store = Store::open(directory.path()); }
    CHECK(size_of() == whole);
}
