// SPDX-License-Identifier: Apache-2.0
#include "domain/changes.hpp"

#include "util/sha256.hpp"

#include <doctest/doctest.h>

using namespace sandbox;
using namespace sandbox::domain;

namespace {

using Entries = std::vector<InventoryEntry>;

InventoryEntry file(std::string path, std::string content = "", std::int64_t time = 1) {
    InventoryEntry made;
    made.path = std::move(path);
    made.mode = 0644;
    made.size = content.size();
    made.content = std::move(content);
    made.content_kind = InventoryEntry::Content::bytes;
    made.mtime_ns = made.ctime_ns = time;
    return made;
}

InventoryEntry without_content(InventoryEntry entry) {
    entry.content_kind = InventoryEntry::Content::none;
    entry.content.clear();
    return entry;
}

InventoryEntry hashed(InventoryEntry entry) {
    entry.content_kind = InventoryEntry::Content::digest;
    entry.content = as_view(sha256(entry.content));
    return entry;
}

InventoryEntry directory(std::string path, bool unreadable = false) {
    InventoryEntry made;
    made.path = std::move(path);
    made.type = InventoryType::directory;
    made.mode = 0755;
    made.unreadable = unreadable;
    return made;
}

InventoryEntry symlink_to(std::string path, std::string target) {
    InventoryEntry made;
    made.path = std::move(path);
    made.type = InventoryType::symlink;
    made.link = std::move(target);
    return made;
}

struct Found {
    std::string text; // "added a, modified b (content), "
    std::vector<std::string> missing;
};

Found find(Entries before, const Entries& after, ChangeOptions options = {}) {
    Found found;
    std::size_t next = 0;
    ChangeFinder finder([&] { return next < before.size() ? std::optional(before[next++]) : std::nullopt; }, std::move(options),
                        [&](const Change& change) {
                            found.text += std::string(change_name(change.kind)) + " " + change.entry().path + (change.type ? " (type)" : "") +
                                          (change.mode ? " (mode)" : "") + (change.content ? " (content)" : "") + ", ";
                        });
    for (const auto& entry : after) finder.take(entry);
    finder.finish();
    found.missing = finder.missing();
    return found;
}

} // namespace

TEST_CASE("two inventories side by side") {
    CHECK(find({}, {}).text.empty());
    CHECK(find({file("a"), file("c"), file("d")}, {file("b"), file("c", "x"), file("d")}).text == "deleted a, added b, modified c (content), ");
    CHECK(find({directory("a"), file("a/x"), file("z")}, {file("z")}).text == "deleted a, deleted a/x, ");
    CHECK(find({}, {directory("a"), file("a/x")}).text == "added a, added a/x, ");
}

TEST_CASE("content that is known decides, whatever the times say") {
    CHECK_FALSE(compare(file("f", "same", 1), file("f", "same", 2)));
    CHECK(compare(file("f", "one", 1), file("f", "two", 1))->content); // within one tick of the clock
    CHECK_FALSE(compare(file("f", "same", 1), hashed(file("f", "same", 2))));
    CHECK(compare(hashed(file("f", "one", 1)), hashed(file("f", "two", 2)))->content);
    CHECK_FALSE(compare(hashed(file("f", "one", 1)), file("f", "one", 2)));
}

TEST_CASE("where it is not known, any touch counts") {
    const auto before = without_content(file("f", "content", 1));
    CHECK_FALSE(compare(before, before));
    CHECK_FALSE(compare(file("f", "content", 1), before)); // not looked at, since nothing has touched it
    auto after = before;
    after.ctime_ns = 2; // its time was set back after the write
    CHECK(compare(before, after)->content);
    after = before;
    after.inode = 7;
    CHECK(compare(before, after)->content);
    after = before;
    after.size = 8;
    CHECK(compare(before, after)->content);
}

TEST_CASE("modes, types and targets") {
    auto executable = file("f");
    executable.mode = 0755;
    const auto mode = compare(file("f"), executable);
    REQUIRE(mode);
    CHECK(mode->mode);
    CHECK_FALSE(mode->content);
    CHECK(compare(symlink_to("l", "a"), symlink_to("l", "b"))->content);
    auto other_mode = symlink_to("l", "a");
    other_mode.mode = 0777;
    CHECK_FALSE(compare(symlink_to("l", "a"), other_mode));
    const auto type = compare(file("f", "x"), symlink_to("f", "x"));
    REQUIRE(type);
    CHECK(type->type);
    CHECK(type->kind == Change::Kind::modified);
    auto older = directory("d");
    older.mtime_ns = 5;
    CHECK_FALSE(compare(directory("d"), older));
}

TEST_CASE("of a directory that cannot be read nothing is claimed") {
    CHECK(find({directory("d"), file("d/x"), file("e")}, {directory("d", true), file("e")}).text == "unreadable d, ");
    CHECK(find({directory("d", true)}, {directory("d"), file("d/x"), file("e")}).text == "unreadable d, added e, ");
    CHECK(find({}, {directory("d", true)}).text == "unreadable d, ");
    CHECK(find({directory("d", true)}, {}).text == "deleted d, ");
    // What only begins with its name is another thing.
    CHECK(find({directory("d"), file("d-x"), file("d/x")}, {directory("d", true)}).text == "unreadable d, deleted d-x, ");
}

TEST_CASE("paths limit what is told, and one that is nowhere is named") {
    const Entries after{file("a"), directory("b"), file("b-x"), file("b/x"), file("c")};
    CHECK(find({}, after, {{"b"}, false}).text == "added b, added b/x, ");
    CHECK(find(after, {}, {{"b/x", "c"}, false}).text == "deleted b/x, deleted c, ");
    CHECK(find(after, after, {{"b", "nosuch"}, false}).missing == std::vector<std::string>{"nosuch"});
    CHECK(find(after, after, {{"a", "c"}, false}).missing.empty());
}

TEST_CASE("repositories are looked into only when asked") {
    const Entries after{directory(".git"), file(".git/config"), file(".gitignore"), directory("a"), file("a/.git")};
    CHECK(find({}, after).text == "added .gitignore, added a, ");
    CHECK(find({}, after, {{}, true}).text == "added .git, added .git/config, added .gitignore, added a, added a/.git, ");
}
