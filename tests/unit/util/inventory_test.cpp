// SPDX-License-Identifier: Apache-2.0
#include "util/inventory.hpp"

#include "util/error.hpp"
#include "util/fs.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

using namespace sandbox;

namespace {

InventoryEntry entry(std::string path, InventoryType type = InventoryType::file) {
    InventoryEntry made;
    made.path = std::move(path);
    made.type = type;
    made.mode = 0644;
    if (type == InventoryType::symlink) made.link = "target";
    return made;
}

InventoryEntry directory(std::string path) { return entry(std::move(path), InventoryType::directory); }

std::string encoded(const std::vector<InventoryEntry>& entries) {
    std::string bytes;
    TreeEncoder out([&](std::string_view chunk) { bytes += chunk; });
    InventoryEncoder encoder(out);
    for (const auto& one : entries) encoder.entry(one);
    out.flush();
    return bytes;
}

std::vector<InventoryEntry> decoded(std::string_view bytes, std::size_t piece, std::size_t max_content = 100) {
    std::vector<InventoryEntry> found;
    InventoryDecoder decoder(max_content);
    InventoryEntry next;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
        std::string_view part = bytes.substr(0, piece);
        while (decoder.next(part, next)) found.push_back(next);
    }
    decoder.finish();
    return found;
}

void refuse(const std::vector<InventoryEntry>& entries) {
    const std::string bytes = encoded(entries);
    try {
        decoded(bytes, bytes.size());
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::protocol_error);
        return;
    }
    FAIL("was taken");
}

} // namespace

TEST_CASE("an inventory comes back as it was, however the stream was cut") {
    auto file = entry("a/text");
    file.size = 3;
    file.content_kind = InventoryEntry::Content::bytes;
    file.content = "abc";
    file.mtime_ns = -1;
    file.ctime_ns = 1'700'000'000'123'456'789;
    file.inode = UINT64_MAX;
    auto binary = entry("a/x");
    binary.size = 1'000'000'000'000;
    binary.content_kind = InventoryEntry::Content::digest;
    binary.content = std::string(32, 'd');
    auto shut = directory("b");
    shut.unreadable = true;
    const std::string bytes = encoded({directory("a"), directory("a-b"), entry("a-b/f"), file, binary, shut, entry("c", InventoryType::symlink)});
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
        const auto found = decoded(bytes, piece);
        REQUIRE(found.size() == 7);
        CHECK(found[2].path == "a-b/f");
        CHECK(found[3].path == "a/text");
        CHECK(found[3].content == "abc");
        CHECK(found[3].mtime_ns == -1);
        CHECK(found[3].ctime_ns == file.ctime_ns);
        CHECK(found[3].inode == UINT64_MAX);
        CHECK(found[4].size == binary.size);
        CHECK(found[4].content == binary.content);
        CHECK(found[5].unreadable);
        CHECK(found[6].link == "target");
    }
    CHECK_THROWS_AS(decoded(bytes.substr(0, bytes.size() - 1), 64), Error);
}

TEST_CASE("what no walk of a tree gives is refused") {
    refuse({entry("b"), entry("a")});
    refuse({entry("a"), entry("a")});
    refuse({entry("..")});
    refuse({entry("/etc")});
    refuse({entry("a//b")});
    refuse({entry("a/b")});                                                      // in no directory
    refuse({entry("a"), entry("a/b")});                                          // below a file
    refuse({entry("a", InventoryType::symlink), entry("a/b")});                  // through a link
    refuse({directory("a"), directory("b"), entry("c/x")});
    refuse({directory("a"), entry("a-b", InventoryType::symlink), entry("a-b/x")});
    auto odd = entry("f");
    odd.mode = 010000;
    refuse({odd});
    odd = entry("f");
    odd.content_kind = InventoryEntry::Content::bytes;
    odd.content = "more than its size";
    refuse({odd});
    odd.content = std::string(200, 'x');
    odd.size = 200;
    refuse({odd}); // more than was asked for
    odd.content = std::string("a\0b", 3);
    odd.size = 3;
    refuse({odd});
    odd = directory("d");
    odd.content_kind = InventoryEntry::Content::digest;
    odd.content = std::string(32, 'x');
    refuse({odd});
    odd = entry("l", InventoryType::symlink);
    odd.link.clear();
    refuse({odd});
}

TEST_CASE("a file is read entry by entry, and a cut one is damaged") {
    const TempDir folder;
    const std::string path = folder.path() + "/inventory";
    const std::string bytes = encoded({entry("a"), entry("b")});
    const auto write = [&](std::string_view content) {
        AtomicFile file(AT_FDCWD, path, 0600);
        write_all(file.fd(), content);
        file.publish();
        return InventoryReader(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), 0);
    };
    auto whole = write(bytes);
    CHECK(whole.next()->path == "a");
    CHECK(whole.next()->path == "b");
    CHECK_FALSE(whole.next());
    auto cut = write(bytes.substr(0, bytes.size() - 1));
    CHECK(cut.next());
    CHECK_THROWS_AS(cut.next(), Error);
}

TEST_CASE("a repository's own files") {
    CHECK(is_in_repository(".git"));
    CHECK(is_in_repository("a/.git/config"));
    CHECK_FALSE(is_in_repository(".gitignore"));
    CHECK_FALSE(is_in_repository("a/b.git"));
}
