// SPDX-License-Identifier: Apache-2.0
// Where a copy lands: docker's rules, merging, conflicts, and confinement.
#include "fixture.hpp"

#include <doctest/doctest.h>
#include <functional>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::tests;

namespace {

struct Rule {
    const char* what;
    const char* source; // file, dir, dir/.
    const char* target;
    const char* made;                     // what holds the copy's "content" afterwards; null: an error
    ErrorCode code = ErrorCode::internal; // of the error
};

constexpr Rule k_rules[] = {
    {"file to a new name", "file", "new", "new"},
    {"file to a new name below a directory", "file", "have/new", "have/new"},
    {"file into a directory", "file", "have", "have/file"},
    {"file into a directory, slash", "file", "have/", "have/file"},
    {"file into a directory, dot", "file", "have/.", "have/file"},
    {"file over a file", "file", "old", "old"},
    {"file to a missing directory", "file", "missing/", nullptr, ErrorCode::not_found},
    {"file below a missing parent", "file", "missing/new", nullptr, ErrorCode::not_found},
    {"file to a file that must be a directory", "file", "old/", nullptr, ErrorCode::conflict},
    {"directory to a new name", "dir", "new", "new/inner"},
    {"directory to a new name, slash", "dir", "new/", "new/inner"},
    {"directory into a directory", "dir", "have", "have/dir/inner"},
    {"directory onto a file", "dir", "old", nullptr, ErrorCode::conflict},
    {"directory below a missing parent", "dir", "missing/new", nullptr, ErrorCode::not_found},
    {"contents into a directory", "dir/.", "have", "have/inner"},
    {"contents to a new name", "dir/.", "new", "new/inner"},
    {"contents onto a file", "dir/.", "old", nullptr, ErrorCode::conflict},
    {"directory over a file of its name", "dir", "taken", nullptr, ErrorCode::conflict},
    {"file over a directory of its name", "file", "taken", nullptr, ErrorCode::conflict},
};

void make_source(const std::string& root) {
    make_directories(root + "/dir", 0755);
    write_file(root + "/file", "content");
    write_file(root + "/dir/inner", "content");
}

void make_target(const std::string& root) {
    make_directories(root + "/have", 0755);
    make_directories(root + "/taken/file", 0755);
    write_file(root + "/taken/dir", "a file");
    write_file(root + "/old", "old");
}

void check_rule(const Rule& rule, const std::string& target_root, const std::function<void()>& copy) {
    const std::string before = describe(target_root, false);
    if (rule.made == nullptr) {
        const auto [code, text] = error_of(copy);
        CHECK(code == rule.code);
        CHECK(describe(target_root, false) == before);
        return;
    }
    CHECK_NOTHROW(copy());
    CHECK(content_of(target_root + "/" + rule.made) == "content");
    CHECK(describe(target_root, false).find(".sandbox") == std::string::npos);
}

} // namespace

TEST_CASE("targets follow docker cp's rules, in and out") {
    for (const Rule& rule : k_rules) {
        for (const bool is_put : {true, false}) {
            CAPTURE(rule.what);
            CAPTURE(is_put);
            Fixture fixture;
            const std::string source_root = is_put ? fixture.host : fixture.workdir;
            const std::string target_root = is_put ? fixture.workdir : fixture.host;
            make_source(source_root);
            make_target(target_root);
            const std::string source = rule.source;
            const std::string name = source.ends_with("/.") ? "" : source;
            check_rule(rule, target_root, [&] {
                if (is_put) fixture.put(source_root + "/" + source, rule.target, name);
                else fixture.get(source, target_root + "/" + rule.target);
            });
        }
    }
}

TEST_CASE_FIXTURE(Fixture, "merging replaces files and links, keeps the rest, and leaves existing directories' modes") {
    make_directories(host + "/dir/sub/fresh", 0755);
    write_file(host + "/dir/sub/both", "new", 0600);
    write_file(host + "/dir/over-link", "new");
    REQUIRE(::symlink("target", (host + "/dir/over-file").c_str()) == 0);
    REQUIRE(::chmod((host + "/dir/sub/fresh").c_str(), 0555) == 0);
    make_directories(workdir + "/dir/sub", 0755);
    REQUIRE(::chmod((workdir + "/dir/sub").c_str(), 0750) == 0);
    write_file(workdir + "/dir/sub/both", "old");
    write_file(workdir + "/dir/sub/kept", "kept");
    write_file(workdir + "/dir/over-file", "old");
    write_file(outside + "/precious", "precious");
    REQUIRE(::symlink((outside + "/precious").c_str(), (workdir + "/dir/over-link").c_str()) == 0);
    put(host + "/dir", ".", "dir");
    CHECK(content_of(workdir + "/dir/sub/both") == "new");
    CHECK(content_of(workdir + "/dir/sub/kept") == "kept");
    CHECK(S_ISLNK(stat_of(workdir + "/dir/over-file").st_mode));
    CHECK(content_of(workdir + "/dir/over-link") == "new");
    CHECK(content_of(outside + "/precious") == "precious");
    CHECK((stat_of(workdir + "/dir/sub").st_mode & 07777) == 0750);
    CHECK((stat_of(workdir + "/dir/sub/fresh").st_mode & 07777) == 0555);
    CHECK(describe(workdir).find(".sandbox") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a conflict anywhere in a merge is found before anything is replaced") {
    make_directories(host + "/dir/z", 0755);
    write_file(host + "/dir/a", "new");
    write_file(host + "/dir/z/deep", "new");
    make_directories(workdir + "/dir/z/deep", 0755);
    write_file(workdir + "/dir/a", "old");
    const std::string before = describe(workdir, false);
    const auto [code, text] = error_of([&] { put(host + "/dir/.", "dir"); });
    CHECK(code == ErrorCode::conflict);
    CHECK(text.find("z/deep") != std::string::npos);
    CHECK(describe(workdir, false) == before);
}

TEST_CASE_FIXTURE(Fixture, "a directory is never merged through a link") {
    make_directories(host + "/dir/sub", 0755);
    write_file(host + "/dir/sub/passwd", "new");
    make_directories(workdir + "/dir", 0755);
    REQUIRE(::symlink(outside.c_str(), (workdir + "/dir/sub").c_str()) == 0);
    CHECK(error_of([&] { put(host + "/dir/.", "dir"); }).first == ErrorCode::conflict);
    CHECK_FALSE(exists(outside + "/passwd"));
}

TEST_CASE_FIXTURE(Fixture, "other absolute paths resolve as for any program") {
    write_file(host + "/f", "f");
    put(host + "/f", outside + "/f");
    CHECK(content_of(outside + "/f") == "f");
    get(outside + "/f", host + "/g");
    CHECK(content_of(host + "/g") == "f");
}

TEST_CASE_FIXTURE(Fixture, "parents are made when asked") {
    write_file(host + "/f", "f");
    channel::PutOptions options;
    options.target = "a/b/c";
    options.make_parents = true;
    options.mode = 0711;
    channel::put_tree(worker.link(), host + "/f", options);
    CHECK((stat_of(workdir + "/a/b/c").st_mode & 07777) == 0711);
    CHECK((stat_of(workdir + "/a").st_mode & 07777) == 0755);
}

TEST_CASE_FIXTURE(Fixture, "a link at the end of the source is copied as a link, and followed with a slash") {
    make_directories(workdir + "/real", 0755);
    write_file(workdir + "/real/f", "f");
    REQUIRE(::symlink("real", (workdir + "/link").c_str()) == 0);
    get("link", host + "/link");
    CHECK(S_ISLNK(stat_of(host + "/link").st_mode));
    get("link/", host + "/followed");
    CHECK(content_of(host + "/followed/f") == "f");
}

TEST_CASE_FIXTURE(Fixture, "a link at the end of the source is followed when asked, as far as the path may lead") {
    make_directories(workdir + "/real", 0755);
    write_file(workdir + "/real/f", "f");
    write_file(outside + "/secret", "s");
    REQUIRE(::symlink("real", (workdir + "/dir-link").c_str()) == 0);
    REQUIRE(::symlink("real/f", (workdir + "/file-link").c_str()) == 0);
    REQUIRE(::symlink("../outside/secret", (workdir + "/out").c_str()) == 0);
    REQUIRE(::symlink("secret", (outside + "/link").c_str()) == 0);
    REQUIRE(::symlink("nowhere", (workdir + "/dangling").c_str()) == 0);
    const auto follow = [&](const std::string& source, const std::string& target) {
        channel::get_tree(worker.link(), {source, target, {}, true});
    };
    follow("dir-link", host + "/dir");
    CHECK(S_ISREG(stat_of(host + "/dir/f").st_mode));
    follow("file-link", host);
    CHECK(S_ISREG(stat_of(host + "/file-link").st_mode));
    CHECK(content_of(host + "/file-link") == "f");
    follow(outside + "/link", host + "/secret");
    CHECK(content_of(host + "/secret") == "s");
    CHECK(error_of([&] { follow("out", host + "/got"); }).first == ErrorCode::denied);
    CHECK(error_of([&] { follow("dangling", host + "/got"); }).first == ErrorCode::not_found);
    CHECK_FALSE(exists(host + "/got"));
}

TEST_CASE_FIXTURE(Fixture, "a merge that fails half-way is undone") {
    for (int i = 0; i < 40; ++i) {
        const std::string name = "/dir/" + std::to_string(i);
        make_directories(host + "/dir/sub", 0755);
        make_directories(workdir + "/dir/sub", 0755);
        write_file(host + name, "new");
        write_file(host + "/dir/sub/n" + std::to_string(i), "new");
        if (i % 2 == 0) write_file(workdir + name, "old");
    }
    // Nothing is renamed over a mount point, and nothing but trying shows it.
    const std::string busy = workdir + "/dir/20";
    REQUIRE(::mount(busy.c_str(), busy.c_str(), nullptr, MS_BIND, nullptr) == 0);
    const std::string before = describe(workdir, false);
    CHECK_THROWS_AS(put(host + "/dir/.", "dir"), Error);
    CHECK(describe(workdir, false) == before);
    REQUIRE(::umount(busy.c_str()) == 0);
    CHECK_NOTHROW(put(host + "/dir/.", "dir"));
    CHECK(content_of(busy) == "new");
}

TEST_CASE_FIXTURE(Fixture, "an ordinary user: owner, read-only directories, missing permission") {
    constexpr unsigned user = 1000;
    REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
    REQUIRE(::chown(workdir.c_str(), user, user) == 0);
    make_directories(workdir + "/of-root", 0755);
    make_directories(host + "/tree/closed/inner", 0755);
    write_file(host + "/tree/closed/inner/f", "f");
    for (const char* name : {"/tree/closed/inner", "/tree/closed", "/tree"}) REQUIRE(::chmod((host + name).c_str(), 0555) == 0);
    Peer session([&](agent::FramedStream& connection) {
        // The bare system call changes this thread alone, and with its uid it loses root's capabilities.
        REQUIRE(::syscall(SYS_setresgid, user, user, user) == 0);
        REQUIRE(::syscall(SYS_setresuid, user, user, user) == 0);
        const auto frame = connection.read_frame();
        agent::SessionContext context;
        context.workdir = workdir;
        const agent::OpenMessage open = agent::decode_open(frame->payload);
        agent::run_file_worker(connection, open.operation, open.version, context);
    });
    channel::PutOptions options;
    options.target = "in";
    channel::put_tree(session.link(), host + "/tree", options);
    CHECK(describe(workdir + "/in") == describe(host + "/tree"));
    CHECK(stat_of(workdir + "/in/closed/inner/f").st_uid == user);
    // Into a directory that may be written, over one that is only in the stream without permission.
    REQUIRE(::chmod((workdir + "/in").c_str(), 0755) == 0);
    REQUIRE(::chmod((workdir + "/in/closed").c_str(), 0755) == 0);
    REQUIRE(::chmod((workdir + "/in/closed/inner").c_str(), 0755) == 0);
    write_file(host + "/tree/closed/inner/f", "newer");
    options.source_name = "";
    CHECK_NOTHROW(channel::put_tree(session.link(), host + "/tree/.", options));
    CHECK(content_of(workdir + "/in/closed/inner/f") == "newer");
    options.target = "of-root/x";
    const auto [code, text] = error_of([&] { channel::put_tree(session.link(), host + "/tree", options); });
    CHECK(code == ErrorCode::io_error);
    CHECK(text.find("Permission denied") != std::string::npos);
    session.join();
    CHECK(describe(workdir).find(".sandbox") == std::string::npos);
}
