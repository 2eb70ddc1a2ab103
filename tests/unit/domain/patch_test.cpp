// SPDX-License-Identifier: Apache-2.0
#include "domain/line_diff.hpp"
#include "domain/patch.hpp"

#include <cstdint>
#include <doctest/doctest.h>

using namespace sandbox;
using namespace sandbox::domain;

namespace {

InventoryEntry file(std::string path, std::string content, std::uint32_t mode = 0644) {
    InventoryEntry made;
    made.path = std::move(path);
    made.mode = mode;
    made.size = content.size();
    made.content = std::move(content);
    made.content_kind = InventoryEntry::Content::bytes;
    return made;
}

InventoryEntry other(std::string path, InventoryType type, std::string link = {}) {
    InventoryEntry made;
    made.path = std::move(path);
    made.type = type;
    made.link = std::move(link);
    return made;
}

Patch patch(const InventoryEntry* before, const InventoryEntry* after) {
    if (before != nullptr && after != nullptr) return patch_of(*compare(*before, *after));
    return patch_of({.kind = before != nullptr ? Change::Kind::deleted : Change::Kind::added, .before = before, .after = after});
}

// What applying the ranges makes of the old lines.
std::string applied(const std::string& before, const std::string& after) {
    const auto old_lines = lines_of(before);
    const auto new_lines = lines_of(after);
    std::string text;
    std::size_t at = 0;
    for (const auto& one : different_lines(old_lines, new_lines)) {
        for (; at < one.old_begin; ++at) text += old_lines[at];
        for (std::size_t i = one.new_begin; i < one.new_end; ++i) text += new_lines[i];
        at = one.old_end;
    }
    for (; at < old_lines.size(); ++at) text += old_lines[at];
    return text;
}

std::size_t lines_changed(const std::string& before, const std::string& after) {
    std::size_t count = 0;
    for (const auto& one : different_lines(lines_of(before), lines_of(after))) count += one.old_end - one.old_begin + one.new_end - one.new_begin;
    return count;
}

std::string letters(std::string_view text) {
    std::string lines;
    for (const char c : text) lines += {c, '\n'};
    return lines;
}

} // namespace

TEST_CASE("the fewest lines that differ") {
    CHECK(lines_changed(letters("abcabba"), letters("cbabac")) == 5); // the example of Myers' paper
    CHECK(lines_changed("a\n", "a\n") == 0);
    CHECK(lines_changed(letters("abc"), letters("abxc")) == 1);
    CHECK(lines_changed("a", "a\n") == 2);
    CHECK(lines_changed("", letters("ab")) == 2);
}

TEST_CASE("ranges always make one text of the other") {
    std::uint32_t seed = 1;
    const auto random = [&](std::uint32_t below) { return (seed = seed * 1664525 + 1013904223) / 65536 % below; };
    for (int round = 0; round < 400; ++round) {
        std::string before;
        std::string after;
        for (auto count = random(30); count > 0; --count) before += letters(std::string(1, static_cast<char>('a' + random(4))));
        for (auto count = random(30); count > 0; --count) after += letters(std::string(1, static_cast<char>('a' + random(4))));
        CAPTURE(before);
        CAPTURE(after);
        REQUIRE(applied(before, after) == after);
    }
}

TEST_CASE("texts that differ in too much are told as one range, in bounded time") {
    std::string before = "first\n";
    std::string after = "first\n";
    for (int i = 0; i < 30'000; ++i) {
        before += "old " + std::to_string(i) + "\n";
        after += "new " + std::to_string(i) + "\n";
    }
    before += "last\n";
    after += "last\n";
    const auto found = different_lines(lines_of(before), lines_of(after));
    REQUIRE(found.size() == 1);
    CHECK(found[0].old_begin == 1);
    CHECK(found[0].old_end == 30'001);
    CHECK(applied(before, after) == after);
    // Under the limit of lines, over that of edits.
    const auto some = [](const std::string& all) { return all.substr(0, all.find(" 3000\n")); };
    CHECK(applied(some(before), some(after)) == some(after));
}

TEST_CASE("hunks as diff -u writes them") {
    CHECK(unified_hunks("a\nb\n", "a\nc\n") == "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    CHECK(unified_hunks("", "x\n") == "@@ -0,0 +1 @@\n+x\n");
    CHECK(unified_hunks("x\ny\n", "") == "@@ -1,2 +0,0 @@\n-x\n-y\n");
    CHECK(unified_hunks("x", "x\n") == "@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n");
    CHECK(unified_hunks("same", "same").empty());
    // Six lines apart share a hunk, seven do not.
    CHECK(unified_hunks(letters("a123456b"), letters("A123456B")) == "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
    CHECK(unified_hunks(letters("a1234567b"), letters("A1234567B")) ==
          "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
}

TEST_CASE("patches in git's form") {
    const auto one = file("f", "one\n");
    const auto two = file("f", "two\n", 0755);
    CHECK(patch(&one, &two).text == "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two\n");
    CHECK(patch(nullptr, &two).text == "diff --git a/f b/f\nnew file mode 100755\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+two\n");
    CHECK(patch(&one, nullptr).text == "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n");
    CHECK(patch(&one, nullptr).bytes == 4);
    const auto link = other("f", InventoryType::symlink, "one\n");
    CHECK(patch(&one, &link).text == "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
                                     "diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+one\n");
    const auto older_link = other("f", InventoryType::symlink, "zero");
    CHECK(patch(&older_link, &link).text.find("deleted file mode 120000\n--- a/f\n+++ /dev/null\n") != std::string::npos);
    CHECK(patch(&older_link, &link).text.find("new file mode 120000\n--- /dev/null\n+++ b/f\n") != std::string::npos);
    const auto directory = other("d", InventoryType::directory);
    CHECK(patch(nullptr, &directory).text.empty());
    CHECK(patch(nullptr, &directory).is_whole);
}

TEST_CASE("what a patch cannot hold is one line that no program takes for a part of it") {
    auto binary = file("f", "x");
    binary.content_kind = InventoryEntry::Content::digest;
    const auto text = file("f", "text\n");
    CHECK(patch(&text, &binary).text == "Binary files a/f and b/f differ\n");
    CHECK_FALSE(patch(&text, &binary).is_whole);
    auto unknown = file("f", "kept");
    unknown.content_kind = InventoryEntry::Content::none;
    CHECK(patch(&unknown, &text).text == "Files a/f and b/f differ: the content at the session's creation was not kept\n");
    CHECK(patch(&text, &unknown).text == "Files a/f and b/f differ: the content is too large, or could not be read\n");
    CHECK(patch(nullptr, &binary).text == "Binary files /dev/null and b/f differ\n");
    auto closed = text;
    closed.mode = 0600;
    CHECK(patch(&text, &closed).text == "Mode of b/f changed from 0644 to 0600\n");
    const auto pipe = other("p", InventoryType::fifo);
    CHECK(patch(nullptr, &pipe).text == "Special file p (fifo)\n");
}

TEST_CASE("a patch gives nobody a repository's hook, in whatever case") {
    for (const char* path : {".git/hooks/post-checkout", "a/.GIT/config", ".Git"}) {
        const auto hook = file(path, "evil\n", 0755);
        CHECK(patch(nullptr, &hook).text.find("evil") == std::string::npos);
        CHECK(patch(nullptr, &hook).text.find("diff --git") == std::string::npos);
    }
    const auto ignore = file(".gitignore", "x\n");
    CHECK(patch(nullptr, &ignore).is_whole);
}

TEST_CASE("names as git writes them") {
    CHECK(quoted_path("a/", "plain name") == "a/plain name");
    CHECK(quoted_path("a/", "caf\xc3\xa9") == "a/caf\xc3\xa9");
    CHECK(quoted_path("b/", "two\nlines") == "\"b/two\\012lines\"");
    CHECK(quoted_path("b/", "bad\xff") == "\"b/bad\\377\"");
    CHECK(quoted_path("b/", "q\"b\\") == "\"b/q\\\"b\\\\\"");
    const auto spaced = file("a b", "x\n");
    CHECK(patch(nullptr, &spaced).text.find("\n+++ \"b/a b\"\n") != std::string::npos);
}
