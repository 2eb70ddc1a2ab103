// SPDX-License-Identifier: Apache-2.0
// Streams that no encoder of ours writes: nothing outside the target, and nothing at it.
#include "fixture.hpp"

#include "util/error.hpp"
#include "util/tree_record.hpp"
#include "util/tree_writer.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::tests;

namespace {

struct Step {
    TreeType type;
    std::string path;
    std::string content; // or the link's target
};
using Steps = std::vector<Step>;

std::string encode(const Steps& steps) {
    std::string bytes;
    TreeEncoder encoder([&](std::string_view chunk) { bytes += chunk; });
    for (const auto& step : steps) {
        TreeRecord record;
        record.type = step.type;
        record.mode = 0755;
        record.path = step.path;
        const bool is_link = step.type == TreeType::symlink || step.type == TreeType::hard_link;
        if (is_link) record.link = step.content;
        else record.size = step.content.size();
        encoder.record(record);
        if (!is_link) encoder.bytes(step.content);
    }
    encoder.flush();
    return bytes;
}

// Extracts `bytes` as the host would, to <directory>/target/t.
void extract(const std::string& directory, std::string_view bytes, std::size_t piece = 1) {
    const PathBase base = PathBase::anywhere();
    const TreeTargetRequest request{directory + "/target/t", "t", false, false};
    TreeWriter writer([&](TreeType root) { return resolve_tree_target(base, request, root); }, 01777);
    TreeDecoder decoder(true);
    for (std::size_t at = 0; at < bytes.size(); at += piece) decoder.feed(bytes.substr(at, piece), writer);
    decoder.finish();
    writer.publish();
}

constexpr auto k_dir = TreeType::directory;
constexpr auto k_file = TreeType::file;
constexpr auto k_link = TreeType::symlink;
constexpr auto k_hard = TreeType::hard_link;

const Step k_root{k_dir, "", ""};

} // namespace

TEST_CASE("a hostile tree is refused and touches nothing") {
    const TempDir directory;
    const std::string outside = directory.path() + "/outside";
    make_directories(directory.path() + "/target", 0755);
    make_directories(outside, 0755);
    write_file(outside + "/precious", "precious");
    const std::string before = describe(directory.path(), false);
    const std::vector<Steps> hostile{
        {k_root, {k_file, "../x", "x"}},
        {k_root, {k_file, "a/../../x", "x"}},
        {k_root, {k_file, outside + "/x", "x"}},
        {k_root, {k_file, "/x", "x"}},
        {k_root, {k_file, ".", "x"}},
        {k_root, {k_file, "..", "x"}},
        {k_root, {k_file, "a//b", "x"}},
        {k_root, {k_file, "a/", "x"}},
        {k_root, {k_file, "", "x"}},
        {k_root, k_root},
        {k_root, {k_file, std::string("a\0b", 3), "x"}},
        {k_root, {k_file, std::string(256, 'n'), "x"}},
        {k_root, {k_link, "a", outside}, {k_file, "a/x", "x"}},
        {k_root, {k_dir, "a", ""}, {k_link, "a", outside}, {k_file, "a/x", "x"}},
        {k_root, {k_dir, "a", ""}, {k_dir, "a", ""}},
        {k_root, {k_file, "a", "1"}, {k_file, "a", "2"}},
        {k_root, {k_link, "a", outside + "/precious"}, {k_file, "a", "2"}},
        {k_root, {k_file, "a", "1"}, {k_file, "a/x", "2"}},
        {k_root, {k_file, "nowhere/x", "2"}},
        {k_root, {k_dir, "a", ""}, {k_dir, "b", ""}, {k_file, "a/x", "back again"}},
        {{k_file, "", "x"}, {k_file, "a", "x"}},
        {{k_link, "", outside}, {k_file, "a", "x"}},
        {{k_file, "a", "x"}},
        {k_root, {k_link, "l", std::string("a\0b", 3)}},
        {k_root, {k_link, "l", ""}},
        {k_root, {k_link, "l", std::string(4096, 'l')}},
        {k_root, {k_dir, "d", "content"}},
        {k_root, {k_hard, "hard", "../../x"}},
        {k_root, {k_hard, "hard", outside + "/precious"}},
        {k_root, {k_hard, "hard", ""}},
        {k_root, {k_dir, "d", ""}, {k_hard, "hard", "d"}},
        {k_root, {k_hard, "hard", "later"}, {k_file, "later", "x"}},
        {k_root, {k_link, "l", outside + "/precious"}, {k_hard, "hard", "l"}},
        {k_root, {k_link, "l", outside}, {k_hard, "hard", "l/precious"}},
        {k_root, {k_file, "a", "1"}, {k_file, "b", "2"}, {k_hard, "b", "a"}},
        {{k_hard, "", "a"}},
        {k_root, {static_cast<TreeType>(5), "five", ""}},
        {k_root, {static_cast<TreeType>(0), "zero", ""}},
        {},
    };
    for (std::size_t i = 0; i < hostile.size(); ++i) {
        CAPTURE(i);
        CHECK(error_of([&] { extract(directory.path(), encode(hostile[i])); }).first == ErrorCode::protocol_error);
        CHECK(describe(directory.path(), false) == before);
    }
}

TEST_CASE("links that point out are made as links, and nothing goes through them") {
    const TempDir directory;
    make_directories(directory.path() + "/target", 0755);
    extract(directory.path(), encode({k_root, {k_link, "l", "/etc/passwd"}}));
    CHECK(S_ISLNK(stat_of(directory.path() + "/target/t/l").st_mode));
}

TEST_CASE("a tree that goes down for ever is refused") {
    const TempDir directory;
    make_directories(directory.path() + "/target", 0755);
    std::string bytes = encode({k_root});
    std::string path = "d";
    for (int depth = 0; depth < 5000; ++depth) {
        bytes += encode({{k_dir, path, ""}});
        path += "/d";
    }
    CHECK(error_of([&] { extract(directory.path(), bytes, 4096); }).first == ErrorCode::protocol_error);
    CHECK(describe(directory.path() + "/target", false) == " 16877\n");
}

TEST_CASE("extents out of order, out of range or empty are refused") {
    const TempDir directory;
    make_directories(directory.path() + "/target", 0755);
    const auto sparse = [](const std::vector<std::pair<std::uint64_t, std::uint64_t>>& extents) {
        std::string bytes;
        TreeEncoder encoder([&](std::string_view chunk) { bytes += chunk; });
        TreeRecord record;
        record.sparse = true;
        record.size = 1000;
        encoder.record(record);
        for (const auto& [offset, length] : extents) {
            encoder.extent(offset, length);
            encoder.bytes(std::string(static_cast<std::size_t>(std::min<std::uint64_t>(length, 2000)), 'x'));
        }
        encoder.flush();
        return bytes;
    };
    CHECK_NOTHROW(extract(directory.path(), sparse({{10, 10}, {500, 500}, {1000, 0}})));
    CHECK(stat_of(directory.path() + "/target/t").st_size == 1000);
    for (const auto& bytes : {sparse({{10, 10}, {15, 1}, {1000, 0}}), sparse({{1001, 0}}), sparse({{500, 501}}), sparse({{5, 0}}),
                              sparse({{5, ~0ULL}}), sparse({{10, 10}})}) {
        CHECK(error_of([&] { extract(directory.path(), bytes); }).first == ErrorCode::protocol_error);
    }
}

TEST_CASE("bytes changed anywhere in a header never escape or crash") {
    const TempDir directory;
    const std::string good = encode({k_root, {k_dir, "a", ""}, {k_file, "a/f", "content"}, {k_link, "l", "a"}});
    make_directories(directory.path() + "/outside", 0755);
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const int value : {0, 0x2f, 0xff}) {
            make_directories(directory.path() + "/target", 0755);
            std::string bad = good;
            bad[at] = static_cast<char>(value);
            try {
                extract(directory.path(), bad);
            } catch (const Error&) {
            }
            CHECK(describe(directory.path() + "/outside", false) == " 16877\n");
            remove_tree(directory.path() + "/target");
        }
    }
}
