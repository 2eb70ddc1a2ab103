// SPDX-License-Identifier: Apache-2.0
#include "util/tree_reroot.hpp"

#include "util/error.hpp"

#include <doctest/doctest.h>

using namespace sandbox;

namespace {

struct Seen final : TreeVisitor {
    std::string text;
    void on_record(const TreeRecord& record) override { text += "[" + record.path + (record.link.empty() ? "" : "->" + record.link) + "]"; }
    void on_data(std::uint64_t, std::string_view bytes) override { text += bytes; }
    void on_file_end() override { text += "."; }
};

TreeRecord record(TreeType type, std::string path, std::string link = {}) {
    TreeRecord made;
    made.type = type;
    made.path = std::move(path);
    made.link = std::move(link);
    return made;
}

} // namespace

TEST_CASE("an archive's first entry becomes the root of all others") {
    Seen seen;
    TreeReroot tree(seen);
    CHECK_FALSE(tree.has_root());
    tree.on_record(record(TreeType::directory, "dir"));
    tree.on_record(record(TreeType::file, "dir/a"));
    tree.on_data(0, "x");
    tree.on_file_end();
    tree.on_record(record(TreeType::hard_link, "dir/sub/b", "dir/a"));
    tree.on_record(record(TreeType::symlink, "dir/l", "/etc/passwd"));
    CHECK(tree.has_root());
    CHECK(seen.text == "[][a]x.[sub/b->a][l->/etc/passwd]");
}

TEST_CASE("a root that is called the root stays, and so do the names below it") {
    Seen seen;
    TreeReroot tree(seen);
    tree.on_record(record(TreeType::directory, ""));
    tree.on_record(record(TreeType::file, "dir/a"));
    tree.on_record(record(TreeType::hard_link, "b", "dir/a"));
    CHECK(tree.has_root());
    CHECK(seen.text == "[][dir/a][b->dir/a]");
    CHECK_THROWS_AS(tree.on_record(record(TreeType::directory, "")), Error);
}

TEST_CASE("what is not below it is refused") {
    const auto refused = [](const std::vector<TreeRecord>& records) {
        Seen seen;
        TreeReroot tree(seen);
        try {
            for (const auto& one : records) tree.on_record(one);
        } catch (const Error& error) {
            return error.code() == ErrorCode::protocol_error;
        }
        return false;
    };
    const auto root = record(TreeType::directory, "dir");
    CHECK(refused({root, record(TreeType::file, "other")}));
    CHECK(refused({root, record(TreeType::file, "dirt/x")}));
    CHECK(refused({root, root}));
    CHECK(refused({root, record(TreeType::hard_link, "dir/x", "etc/passwd")}));
    CHECK(refused({record(TreeType::directory, "dir/sub")}));
    CHECK(refused({record(TreeType::hard_link, "dir", "dir")}));
}
