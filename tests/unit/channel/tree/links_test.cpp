// SPDX-License-Identifier: Apache-2.0
// Hard links and users' extended attributes: kept by agents that know them, and never sent to those that do not.
#include "fixture.hpp"

#include "util/tree_reader.hpp"
#include "util/tree_writer.hpp"

#include <cstring>
#include <doctest/doctest.h>
#include <sys/xattr.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::tests;

namespace {

void set_xattr(const std::string& path, const std::string& name, std::string_view value) {
    REQUIRE(::setxattr(path.c_str(), name.c_str(), value.data(), value.size(), 0) == 0);
}

std::string xattr_of(const std::string& path, const std::string& name) {
    char value[256];
    const ssize_t size = ::getxattr(path.c_str(), name.c_str(), value, sizeof value);
    return size < 0 ? "<none>" : std::string(value, static_cast<std::size_t>(size));
}

bool is_one_file(const std::string& one, const std::string& other) {
    return stat_of(one).st_ino == stat_of(other).st_ino && stat_of(one).st_dev == stat_of(other).st_dev;
}

void make_linked_tree(const std::string& root) {
    make_directories(root + "/sub", 0755);
    write_file(root + "/one", "shared", 0640);
    REQUIRE(::link((root + "/one").c_str(), (root + "/two").c_str()) == 0);
    REQUIRE(::link((root + "/one").c_str(), (root + "/sub/three").c_str()) == 0);
    write_file(root + "/alone", "alone");
    REQUIRE(::link((root + "/alone").c_str(), (root + "/../elsewhere").c_str()) == 0);
    set_xattr(root + "/one", "user.origin", std::string("web\0site", 8));
    set_xattr(root + "/sub", "user.kind", "directory");
    set_xattr(root, "user.root", "r");
}

void check_linked_tree(const std::string& root) {
    CHECK(is_one_file(root + "/one", root + "/two"));
    CHECK(is_one_file(root + "/one", root + "/sub/three"));
    CHECK(stat_of(root + "/one").st_nlink == 3);
    CHECK(stat_of(root + "/alone").st_nlink == 1);
    CHECK(content_of(root + "/two") == "shared");
    CHECK(xattr_of(root + "/two", "user.origin") == std::string("web\0site", 8));
    CHECK(xattr_of(root + "/sub", "user.kind") == "directory");
    CHECK(xattr_of(root, "user.root") == "r");
}

} // namespace

TEST_CASE_FIXTURE(Fixture, "names of one file stay one file, and users' xattrs are kept, in, out and between sessions") {
    make_linked_tree(host + "/tree");
    const auto stats = put(host + "/tree", "in");
    CHECK(stats.files == 4);
    CHECK(stats.bytes == 11); // a link has no bytes of its own
    check_linked_tree(workdir + "/in");
    get("in", host + "/back");
    check_linked_tree(host + "/back");
    channel::RelayOptions options;
    options.source = "in";
    options.put.target = "relayed";
    channel::copy_tree(worker.link(), worker.link(), options);
    check_linked_tree(workdir + "/relayed");
}

TEST_CASE_FIXTURE(Fixture, "a tree that replaces one breaks no link group that it does not hold") {
    make_directories(workdir + "/in", 0755);
    write_file(workdir + "/in/one", "old");
    REQUIRE(::link((workdir + "/in/one").c_str(), (workdir + "/keeps").c_str()) == 0);
    make_linked_tree(host + "/tree");
    put(host + "/tree", "in");
    CHECK(content_of(workdir + "/keeps") == "old");
    CHECK(is_one_file(workdir + "/in/one", workdir + "/in/two"));
}

TEST_CASE_FIXTURE(Fixture, "capabilities and other attributes that mean something to the kernel stay behind") {
    write_file(host + "/tool", "x", 0755);
    // VFS_CAP_REVISION_2 with CAP_NET_RAW, as setcap(8) writes it.
    const unsigned char capability[20] = {1, 0, 0, 2, 0, 32};
    REQUIRE(::setxattr((host + "/tool").c_str(), "security.capability", capability, sizeof capability, 0) == 0);
    set_xattr(host + "/tool", "user.a", "1");
    put(host + "/tool", "tool");
    CHECK(xattr_of(workdir + "/tool", "user.a") == "1");
    CHECK(xattr_of(workdir + "/tool", "security.capability") == "<none>");
}

TEST_CASE_FIXTURE(Fixture, "an agent of protocol version 1 gets and gives trees without them") {
    worker.version = 1;
    make_linked_tree(host + "/tree");
    CHECK(put(host + "/tree", "in").files == 4);
    CHECK(content_of(workdir + "/in/two") == "shared");
    CHECK(content_of(workdir + "/in/sub/three") == "shared");
    CHECK(xattr_of(workdir + "/in/one", "user.origin") == "<none>");
    make_linked_tree(workdir + "/out");
    get("out", host + "/back");
    CHECK(content_of(host + "/back/two") == "shared");
    CHECK_FALSE(is_one_file(host + "/back/one", host + "/back/two"));
    channel::RelayOptions options;
    options.source = "out";
    options.put.target = "relayed";
    channel::copy_tree(worker.link(), worker.link(), options);
    CHECK(content_of(workdir + "/relayed/two") == "shared");
}

TEST_CASE("attributes that no copy carries, and endless ones, are refused") {
    const auto decode = [](const std::vector<TreeXattr>& xattrs, TreeType type) {
        std::string bytes;
        TreeEncoder encoder([&](std::string_view chunk) { bytes += chunk; });
        TreeRecord record;
        record.type = type;
        if (type == TreeType::symlink) record.link = "x";
        record.xattrs = xattrs;
        encoder.record(record);
        encoder.flush();
        const TempDir directory;
        TreeWriter writer([&](TreeType) { return resolve_tree_target(PathBase::anywhere(), {directory.path() + "/t", "t", false, false}, type); }, 07777);
        TreeDecoder decoder(true);
        return error_of([&] { decoder.feed(bytes, writer); decoder.finish(); }).first;
    };
    CHECK(decode({{"security.capability", "x"}}, TreeType::file) == ErrorCode::protocol_error);
    CHECK(decode({{"trusted.overlay.opaque", "y"}}, TreeType::directory) == ErrorCode::protocol_error);
    CHECK(decode({{"user.", "y"}}, TreeType::file) == ErrorCode::protocol_error);
    CHECK(decode({{std::string("user.a\0b", 8), "y"}}, TreeType::file) == ErrorCode::protocol_error);
    CHECK(decode({{"user." + std::string(300, 'n'), "y"}}, TreeType::file) == ErrorCode::protocol_error);
    CHECK(decode({{"user.a", "y"}}, TreeType::symlink) == ErrorCode::protocol_error);
    CHECK(decode(std::vector<TreeXattr>(20, {"user.big", std::string(64 << 10, 'x')}), TreeType::file) == ErrorCode::protocol_error);
}

TEST_CASE_FIXTURE(Fixture, "a tree is copied into itself once, without the copy in it") {
    make_directories(workdir + "/a/b", 0755);
    write_file(workdir + "/a/f", "f");
    channel::RelayOptions options;
    options.source = "a";
    options.put.target = "a/b/";
    options.put.source_name = "a";
    channel::copy_tree(worker.link(), worker.link(), options);
    CHECK(content_of(workdir + "/a/b/a/f") == "f");
    CHECK(exists(workdir + "/a/b/a/b"));
    CHECK_FALSE(exists(workdir + "/a/b/a/b/a"));
    CHECK(describe(workdir).find(".sandbox") == std::string::npos);
}
