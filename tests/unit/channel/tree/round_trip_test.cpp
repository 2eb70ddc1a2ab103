// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::tests;

namespace {

// Every kind of entry and name that a tree may hold.
void make_rich_tree(const std::string& root) {
    make_directories(root + "/empty", 0755);
    make_directories(root + "/sub/deeper", 0755);
    write_file(root + "/plain.txt", "hello\n");
    write_file(root + "/empty-file", "");
    write_file(root + "/tool.sh", "#!/bin/sh\n", 0755);
    write_file(root + "/secret", "s", 0600);
    write_file(root + "/sub/bytes", std::string("\0\xff\n\x80", 4));
    write_file(root + "/not-utf8-\xff\xfe", "latin");
    write_file(root + "/" + std::string(255, 'n'), "long name");
    write_file(root + "/new\nline and space", "odd");
    write_file(root + "/sub/deeper/big", std::string(700'000, 'b'));
    REQUIRE(::symlink("../plain.txt", (root + "/sub/link").c_str()) == 0);
    REQUIRE(::symlink("/nowhere/at/all", (root + "/dangling").c_str()) == 0);
    REQUIRE(::symlink(std::string(300, 't').c_str(), (root + "/long-target").c_str()) == 0);
    REQUIRE(::chmod((root + "/sub/deeper").c_str(), 0555) == 0);
    set_mtime(root + "/plain.txt", 1'000'000'001, 123'456'789);
    set_mtime(root + "/dangling", 5, 7);
    set_mtime(root + "/secret", -100, 1);
    set_mtime(root + "/sub/deeper", 1'700'000'000, 1);
    set_mtime(root + "/sub", 1'600'000'000, 999'999'999);
    set_mtime(root, 1'500'000'000, 42);
}

} // namespace

TEST_CASE_FIXTURE(Fixture, "a tree comes back exactly: modes, links, times in ns, names, empty directories") {
    make_rich_tree(host + "/tree");
    const auto there = put(host + "/tree", "in", "tree");
    CHECK(there.files == 12);
    CHECK(describe(workdir + "/in") == describe(host + "/tree"));
    const auto back = get("in", host + "/back");
    CHECK(back.files == there.files);
    CHECK(back.bytes == there.bytes);
    CHECK(describe(host + "/back") == describe(host + "/tree"));
    CHECK(describe(workdir).find(".sandbox") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a file larger than any buffer") {
    std::string content(3'000'000, '\0');
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 2654435761U >> 13);
    write_file(host + "/big", content, 0640);
    CHECK(put(host + "/big", "big").bytes == content.size());
    CHECK(content_of(workdir + "/big") == content);
    get("big", host + "/copy");
    CHECK(describe(host + "/copy") == describe(host + "/big"));
}

TEST_CASE_FIXTURE(Fixture, "holes stay holes, 9 GiB included") {
    const std::string path = host + "/sparse";
    const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    constexpr off_t size = 9LL << 30;
    REQUIRE(::ftruncate(file.get(), size) == 0);
    REQUIRE(::pwrite(file.get(), "middle", 6, 5LL << 30) == 6);
    put(path, "sparse");
    get("sparse", host + "/back");
    const auto info = stat_of(host + "/back");
    CHECK(info.st_size == size);
    CHECK(info.st_blocks * 512 < 1 << 20);
    const Fd back(::open((host + "/back").c_str(), O_RDONLY | O_CLOEXEC));
    char text[6];
    REQUIRE(::pread(back.get(), text, 6, 5LL << 30) == 6);
    CHECK(std::string(text, 6) == "middle");
}

TEST_CASE_FIXTURE(Fixture, "paths longer than PATH_MAX and deeper than the open levels") {
    const std::string name(50, 'd');
    Fd at(::open(host.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::mkdirat(at.get(), "deep", 0755) == 0);
    at.reset(::openat(at.get(), "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < 200; ++i) {
        REQUIRE(::mkdirat(at.get(), name.c_str(), 0755) == 0);
        const Fd file(::openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        write_all(file.get(), std::to_string(i));
        at.reset(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    CHECK(put(host + "/deep", "deep").files == 200);
    CHECK(get("deep", host + "/back").files == 200);
    at.reset(::open((host + "/back").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < 199; ++i) at.reset(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const Fd last(::openat(at.get(), "file", O_RDONLY | O_CLOEXEC));
    CHECK(read_all(last.get(), 100) == "199");
}

TEST_CASE_FIXTURE(Fixture, "modes do not depend on the umask") {
    const mode_t before = ::umask(0077);
    make_directories(host + "/tree", 0777);
    REQUIRE(::chmod((host + "/tree").c_str(), 0777) == 0);
    write_file(host + "/tree/open", "x", 0666);
    put(host + "/tree", "in");
    get("in", host + "/back");
    ::umask(before);
    CHECK((stat_of(workdir + "/in").st_mode & 07777) == 0777);
    CHECK((stat_of(workdir + "/in/open").st_mode & 07777) == 0666);
    CHECK((stat_of(host + "/back/open").st_mode & 07777) == 0666);
}

TEST_CASE_FIXTURE(Fixture, "setuid and setgid go in, and are dropped on the way out") {
    write_file(host + "/tool", "x", 06755);
    put(host + "/tool", "tool");
    CHECK((stat_of(workdir + "/tool").st_mode & 07777) == 06755);
    get("tool", host + "/back");
    CHECK((stat_of(host + "/back").st_mode & 07777) == 0755);
}

TEST_CASE_FIXTURE(Fixture, "sockets and named pipes are skipped and counted, devices refused") {
    make_directories(workdir + "/d", 0755);
    REQUIRE(::mkfifo((workdir + "/d/pipe").c_str(), 0644) == 0);
    const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (workdir + "/d/sock").copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    write_file(workdir + "/d/file", "f");
    const auto stats = get("d", host + "/d");
    CHECK(stats.files == 1);
    CHECK(stats.skipped == 2);
    CHECK(exists(host + "/d/file"));
    const auto [code, text] = error_of([&] { get("/dev/zero", host + "/zero"); });
    CHECK(code == ErrorCode::failed);
    CHECK(text.find("/dev/zero") != std::string::npos);
    CHECK_FALSE(exists(host + "/zero"));
}

TEST_CASE_FIXTURE(Fixture, "files that claim to be empty come with their content") {
    get("/proc/self/status", host + "/status");
    CHECK(content_of(host + "/status").find("VmRSS") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "excluded names and paths stay behind") {
    for (const char* name : {"/t/.git/objects", "/t/src/node_modules", "/t/build"}) make_directories(host + name, 0755);
    for (const char* name : {"/t/.git/x", "/t/src/node_modules/y", "/t/src/a.o", "/t/src/a.c", "/t/build/z", "/t/top.c"}) {
        write_file(host + name, "");
    }
    channel::PutOptions options;
    options.target = "t";
    options.exclude = {".git", "node_modules/", "*.o", "/build", "src/top.c"};
    CHECK(channel::put_tree(worker.link(), host + "/t", options).files == 2);
    CHECK(exists(workdir + "/t/src/a.c"));
    CHECK(exists(workdir + "/t/top.c"));
    CHECK_FALSE(exists(workdir + "/t/.git"));
    CHECK_FALSE(exists(workdir + "/t/build"));
}

TEST_CASE_FIXTURE(Fixture, "entries are made with their parents, whole, and replace what is no directory") {
    write_file(workdir + "/old", "old");
    using Kind = channel::Entry::Kind;
    const std::vector<channel::Entry> entries{
        {"a/b/c.txt", Kind::file, "text", {}},         {"old", Kind::file, "new", 0600},
        {"cache", Kind::directory, "", 0700},          {"a/b", Kind::directory, "", {}},
        {"a/link", Kind::symlink, "b/c.txt", {}},      {"run.sh", Kind::file, "#!/bin/sh\n", 0755},
        {"big", Kind::file, std::string(1 << 20, 'x'), {}},
    };
    const mode_t before = ::umask(0077);
    channel::put_entries(worker.link(), entries);
    ::umask(before);
    CHECK(content_of(workdir + "/a/link") == "text");
    CHECK((stat_of(workdir + "/a/b").st_mode & 07777) == 0755);
    CHECK((stat_of(workdir + "/a/b/c.txt").st_mode & 07777) == 0644);
    CHECK(content_of(workdir + "/old") == "new");
    CHECK((stat_of(workdir + "/old").st_mode & 07777) == 0600);
    CHECK((stat_of(workdir + "/cache").st_mode & 07777) == 0700);
    CHECK((stat_of(workdir + "/run.sh").st_mode & 07777) == 0755);
    CHECK(stat_of(workdir + "/big").st_size == 1 << 20);
    CHECK(describe(workdir).find(".sandbox") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "an entry below a file or onto a directory is an error, and those before it stand") {
    write_file(workdir + "/file", "f");
    make_directories(workdir + "/dir", 0755);
    using Kind = channel::Entry::Kind;
    const std::vector<channel::Entry> below{{"first", Kind::file, "1", {}}, {"file/x", Kind::file, "2", {}}};
    CHECK(error_of([&] { channel::put_entries(worker.link(), below); }).second.find("file") != std::string::npos);
    CHECK(content_of(workdir + "/first") == "1");
    const std::vector<channel::Entry> onto{{"dir", Kind::file, "2", {}}};
    CHECK(error_of([&] { channel::put_entries(worker.link(), onto); }).first == ErrorCode::conflict);
}
