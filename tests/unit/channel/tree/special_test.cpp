// SPDX-License-Identifier: Apache-2.0
// Devices, named pipes and sockets: never replaced at the target, never mistaken for something else at the source.
#include "fixture.hpp"

#include "agent/files_messages.hpp"
#include "util/tree_record.hpp"

#include <doctest/doctest.h>
#include <string>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::tests;

namespace {

constexpr mode_t k_special[] = {S_IFCHR, S_IFIFO, S_IFSOCK};

// A node of its own, which does what /dev/null does.
void make_node(const std::string& path, mode_t format) {
    REQUIRE(::mknod(path.c_str(), format | 0666, format == S_IFCHR ? makedev(1, 3) : 0) == 0);
}

bool is_node(const std::string& path, mode_t format) { return (stat_of(path).st_mode & S_IFMT) == format; }

} // namespace

TEST_CASE("a device, a named pipe or a socket at the target is a conflict, either way") {
    for (const mode_t format : k_special) {
        CAPTURE(format);
        Fixture fixture;
        for (const std::string& root : {fixture.host, fixture.workdir}) {
            write_file(root + "/f", "new");
            make_node(root + "/node", format);
        }
        REQUIRE(::symlink("f", (fixture.host + "/link").c_str()) == 0);
        CHECK(error_of([&] { fixture.get("f", fixture.host + "/node"); }).first == ErrorCode::conflict);
        CHECK(error_of([&] { fixture.put(fixture.host + "/f", "node"); }).first == ErrorCode::conflict);
        CHECK(error_of([&] { fixture.put(fixture.host + "/link", fixture.workdir + "/node"); }).first == ErrorCode::conflict);
        CHECK(error_of([&] { fixture.put(fixture.host + "/f", ".", "node"); }).first == ErrorCode::conflict);
        const std::vector<channel::Entry> entries{{"node", channel::Entry::Kind::file, "new", {}}};
        CHECK(error_of([&] { channel::put_entries(fixture.worker.link(), entries); }).first == ErrorCode::conflict);
        CHECK(is_node(fixture.host + "/node", format));
        CHECK(is_node(fixture.workdir + "/node", format));
    }
}

TEST_CASE("one met while merging is found before anything is replaced") {
    for (const mode_t format : k_special) {
        CAPTURE(format);
        Fixture fixture;
        make_directories(fixture.workdir + "/dir/z", 0755);
        write_file(fixture.workdir + "/dir/a", "new");
        write_file(fixture.workdir + "/dir/z/node", "new");
        make_directories(fixture.host + "/dir/z", 0755);
        write_file(fixture.host + "/dir/a", "old");
        make_node(fixture.host + "/dir/z/node", format);
        const std::string before = describe(fixture.host, false);
        const auto [code, text] = error_of([&] { fixture.get("dir/.", fixture.host + "/dir"); });
        CHECK(code == ErrorCode::conflict);
        CHECK(text.find("z/node") != std::string::npos);
        CHECK(describe(fixture.host, false) == before);
    }
}

TEST_CASE_FIXTURE(Fixture, "one that appears while the file comes is not replaced either") {
    Peer slow([this](agent::FramedStream& connection) {
        connection.read_frame(); // open
        connection.read_frame(); // get
        TreeEncoder out([&](std::string_view chunk) { connection.write(agent::FrameType::data, chunk); });
        TreeRecord file;
        file.size = 3;
        out.record(file);
        out.flush();
        while (describe(host).find(".sandbox-cp-") == std::string::npos) ::usleep(1000);
        make_node(host + "/node", S_IFCHR);
        out.bytes("new");
        out.flush();
        connection.write(agent::FrameType::data, {});
        connection.write(agent::encode(agent::DoneMessage{1, 3, 0}));
    });
    CHECK(error_of([&] { channel::get_tree(slow.link(), {"f", host + "/node", {}}); }).first == ErrorCode::conflict);
    CHECK(is_node(host + "/node", S_IFCHR));
}

TEST_CASE_FIXTURE(Fixture, "a device that is mounted over a file is called that, a pipe is skipped") {
    make_directories(workdir + "/d", 0755);
    write_file(workdir + "/d/keys", "hidden");
    for (const mode_t format : {S_IFCHR, S_IFIFO}) {
        const std::string node = outside + "/node" + std::to_string(format);
        make_node(node, format);
        REQUIRE(::mount(node.c_str(), (workdir + "/d/keys").c_str(), nullptr, MS_BIND, nullptr) == 0);
        if (format == S_IFIFO) CHECK(get("d", host + "/d").skipped == 1);
        else CHECK(error_of([&] { get("d", host + "/d"); }).second.find("cannot copy device \"d/keys\"") != std::string::npos);
        worker.join();
        REQUIRE(::umount((workdir + "/d/keys").c_str()) == 0);
    }
}
