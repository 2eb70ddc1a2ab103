// SPDX-License-Identifier: Apache-2.0
#include "agent/files_messages.hpp"
#include "agent/files_request.hpp"
#include "channel/connection.hpp"
#include "channel/files.hpp"
#include "live_agent.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <csignal>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <functional>
#include <sys/stat.h>
#include <thread>

using namespace sandbox;
using namespace sandbox::channel;
using namespace sandbox::channel::test;

namespace {

std::string paths(const FileList& list) {
    std::string text;
    for (const auto& entry : list.entries) text += entry.path + (entry.type == InventoryType::directory ? "/ " : " ");
    return text;
}

std::string listed(const LiveAgent& agent, const std::string& path, std::uint32_t depth = 1) {
    return paths(list_files(agent.link(), {.path = path, .depth = depth}));
}

FileText text_of(const LiveAgent& agent, const std::string& path, const PageWanted& page = {}) {
    return read_text(agent.link(), {.path = path, .page = page});
}

FileText lines_of(const LiveAgent& agent, const std::string& path, std::uint64_t start, std::uint64_t count = UINT64_MAX, std::uint64_t max_bytes = UINT64_MAX) {
    return text_of(agent, path, {PageUnit::lines, start, count, max_bytes});
}

FileText tail_of(const LiveAgent& agent, const std::string& path, std::uint64_t count, std::uint64_t max_bytes = UINT64_MAX) {
    return text_of(agent, path, {PageUnit::last_lines, 0, count, max_bytes});
}

// What gives a text in pieces, as a pipe does.
ArchiveInput input_of(std::string text, std::size_t piece = 1 << 20) {
    auto rest = std::make_shared<std::string>(std::move(text));
    return [rest, piece](std::span<char> buffer, const auto&) {
        const std::size_t count = rest->copy(buffer.data(), std::min(piece, buffer.size()));
        rest->erase(0, count);
        return count;
    };
}

WrittenFile write(const LiveAgent& agent, const WriteFileOptions& options, const std::string& text) {
    return write_file(agent.link(), input_of(text), options);
}

std::string content(const LiveAgent& agent, const std::string& name) { return sandbox::read_file(agent.workdir() + "/" + name).value_or("(none)"); }

struct stat stat_of(const LiveAgent& agent, const std::string& name) {
    struct stat info {};
    ::lstat((agent.workdir() + "/" + name).c_str(), &info);
    return info;
}

std::string code_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& error) {
        return std::string(error_code_name(error.code()));
    }
    return "done";
}

std::string read_code(const LiveAgent& agent, const std::string& path) {
    return code_of([&] { text_of(agent, path); });
}

std::string write_code(const LiveAgent& agent, const WriteFileOptions& options, const std::string& text = "new") {
    return code_of([&] { write(agent, options, text); });
}

std::string remove_code(const LiveAgent& agent, const RemoveFileOptions& options) {
    return code_of([&] { remove_file(agent.link(), options); });
}

// What a write has set aside goes a moment after its client has been answered.
std::string hidden_names(const LiveAgent& agent) {
    std::string names;
    eventually([&] { return (names = agent.shell("ls -A | grep '^[.]sandbox' || true")).empty(); });
    return names;
}

} // namespace

TEST_CASE("a directory is listed in the order of its names' bytes, with what each entry is") {
    LiveAgent agent;
    agent.shell("mkdir -p d/sub d/a; printf abc >d/file; ln -s file d/link; mkfifo d/pipe; touch d/.hidden d/B; chmod 640 d/file; touch -d @1.5 d/file");
    CHECK(listed(agent, "d") == ".hidden B a/ file link pipe sub/ ");
    const auto list = list_files(agent.link(), {.path = "d"});
    CHECK(!list.truncated);
    const auto& file = list.entries[3];
    CHECK(file.size == 3);
    CHECK(file.mode == 0640);
    CHECK(file.mtime_ns == 1'500'000'000);
    CHECK(list.entries[4].link == "file");
    CHECK(list.entries[5].type == InventoryType::fifo);
    CHECK(listed(agent, "") == "d/ ");
    CHECK(listed(agent, agent.workdir()) == "d/ ");
    CHECK(listed(agent, "d/file") == "file ");
    CHECK(listed(agent, "d/sub") == "");
    CHECK(listed(agent, "d", 0) == "d/ ");
    CHECK(listed(agent, "d/link", 0) == "link ");
    CHECK(listed(agent, ".", 0) == "./ ");
}

TEST_CASE("a tree is listed to a depth and up to a number, never through a link") {
    LiveAgent agent;
    agent.shell("mkdir -p t/a/b/c t/a-b; touch t/a/x t/a/b/y t/a/b/c/z; ln -s / t/root; ln -s a t/zlink");
    CHECK(listed(agent, "t", k_whole_depth) == "a/ a/b/ a/b/c/ a/b/c/z a/b/y a/x a-b/ root zlink ");
    CHECK(listed(agent, "t", 2) == "a/ a/b/ a/x a-b/ root zlink ");
    const auto some = list_files(agent.link(), {.path = "t", .depth = k_whole_depth, .max_entries = 3});
    CHECK(paths(some) == "a/ a/b/ a/b/c/ ");
    CHECK(some.truncated);
    CHECK(!list_files(agent.link(), {.path = "t", .depth = k_whole_depth, .max_entries = 9}).truncated);
    agent.shell("mkdir many; cd many; for i in $(seq 1000 3999); do echo >$i; done");
    const auto many = list_files(agent.link(), {.path = "many", .max_entries = 2000});
    CHECK(many.entries.size() == 2000);
    CHECK(many.entries.back().path == "2999");
    CHECK(list_files(agent.link(), {.path = "many"}).entries.size() == 3000);
}

TEST_CASE("names of any bytes come as they are") {
    LiveAgent agent;
    agent.shell(R"x(mkdir n; cd n; touch "$(printf 'two\nlines')" "$(printf 'bad\377')" "$(printf 'esc\033[31m')")x");
    CHECK(listed(agent, "n") == "bad\377 esc\033[31m two\nlines ");
    CHECK(text_of(agent, "n/two\nlines").content == "");
    CHECK(write(agent, {.path = "n/\xff\n"}, "x").created);
    CHECK(remove_file(agent.link(), {.path = "n/bad\377"}) == 1);
}

TEST_CASE("what keeps a directory from being listed is said of it, and nothing else is missing") {
    LiveAgent::Options options;
    options.prefix = {"setpriv", "--bounding-set=-dac_override,-dac_read_search"}; // for which root is an owner like others
    LiveAgent agent(std::move(options));
    agent.shell("mkdir -p t/closed/x t/open t/readable/z; touch t/open/y; chmod 0 t/closed; chmod 444 t/readable");
    const auto list = list_files(agent.link(), {.path = "t", .depth = k_whole_depth});
    CHECK(paths(list) == "closed/ open/ open/y readable/ readable/z/ ");
    CHECK(list.entries[0].problem == "Permission denied");
    CHECK(list.entries[1].problem == "");
    CHECK(list.entries[3].problem == "");
    CHECK(list.entries[4].problem == "Permission denied");
    CHECK(code_of([&] { list_files(agent.link(), {.path = "t/closed"}); }) == "io_error");
    SUBCASE("and a whole tree goes all the same, if it is one's own") {
        CHECK(remove_file(agent.link(), {.path = "t", .recursive = true}) == 7);
        CHECK(stat_of(agent, "t").st_mode == 0);
    }
}

TEST_CASE("deeper than any path can say") {
    LiveAgent agent;
    agent.shell("mkdir deep; cd deep; i=0; while [ $i -lt 900 ]; do mkdir 0123456789; cd -P 0123456789; i=$((i+1)); done; touch end");
    const auto list = list_files(agent.link(), {.path = "deep", .depth = k_whole_depth});
    CHECK(list.entries.size() == 901);
    CHECK(list.entries.back().path.ends_with("/end"));
    CHECK(remove_file(agent.link(), {.path = "deep", .recursive = true}) == 902);
}

TEST_CASE("a file is read whole, by bytes, and by lines") {
    LiveAgent agent;
    agent.shell("printf 'one\\ntwo\\nthree' >f; : >empty; printf 'a\\n' >a");
    const auto whole = text_of(agent, "f");
    CHECK(whole.content == "one\ntwo\nthree");
    CHECK(whole.page.range.size == 13);
    CHECK(!whole.page.next_byte());
    CHECK(text_of(agent, "f", {.start = 4, .count = 3}).content == "two");
    CHECK(text_of(agent, "f", {.start = 4, .count = 3}).page.next_byte() == 7);
    CHECK(text_of(agent, "f", {.start = 99}).content == "");
    CHECK(lines_of(agent, "f", 2, 1).content == "two\n");
    CHECK(lines_of(agent, "f", 2, 1).page.next_line() == 3);
    const auto last = lines_of(agent, "f", 3, 5);
    CHECK(last.content == "three");
    CHECK(last.page.range.lines == 1);
    CHECK(!last.page.next_line());
    CHECK(lines_of(agent, "f", 4).content == "");
    CHECK(lines_of(agent, "f", 4).page.range.lines == 0);
    CHECK(lines_of(agent, "a", 1, 1).content == "a\n");
    CHECK(!lines_of(agent, "a", 1, 1).page.next_line());
    CHECK(lines_of(agent, "a", 2).content == "");
    CHECK(text_of(agent, "empty").content == "");
    CHECK(lines_of(agent, "empty", 1).page.range.lines == 0);
}

TEST_CASE("the last lines are found from the end on") {
    LiveAgent agent;
    agent.shell("printf 'one\\ntwo\\nthree' >f; : >empty; printf 'a\\n\\n' >a; truncate -s 20G big; printf '\\nlast\\n' >>big; seq 100000 >many");
    CHECK(tail_of(agent, "f", 1).content == "three");
    CHECK(tail_of(agent, "f", 2).content == "two\nthree");
    const auto all = tail_of(agent, "f", 9);
    CHECK(all.content == "one\ntwo\nthree");
    CHECK(all.page.range.lines == 3);
    CHECK(!all.page.range.truncated);
    CHECK(!all.page.next_line());
    CHECK(!all.page.next_byte());
    CHECK(tail_of(agent, "f", 2).page.range.begin == 4);
    CHECK(tail_of(agent, "f", 2).page.range.lines == 2);
    CHECK(tail_of(agent, "f", 0).content == "");
    CHECK(tail_of(agent, "empty", 3).content == "");
    CHECK(tail_of(agent, "empty", 3).page.range.lines == 0);
    CHECK(tail_of(agent, "a", 1).content == "\n");
    CHECK(tail_of(agent, "a", 2).content == "a\n\n");
    CHECK(tail_of(agent, "big", 1).content == "last\n");
    CHECK(tail_of(agent, "big", 2, 100).content == "last\n");
    CHECK(tail_of(agent, "big", 2, 3).content == "st\n");
    CHECK(tail_of(agent, "big", UINT64_MAX, 1000).page.range.truncated);
    CHECK(tail_of(agent, "many", 99'990).content.starts_with("11\n12\n"));
    CHECK(tail_of(agent, "many", 99'990).page.range.lines == 99'990);
    CHECK(tail_of(agent, "/proc/self/status", 1).content.starts_with("nonvoluntary"));
}

TEST_CASE("of the last lines a limit keeps the last, whole, and of one that is too long its end") {
    LiveAgent agent;
    agent.shell("printf 'aaa\\nbbb\\nccc\\n' >f; printf 'x\\303\\251\\342\\202\\254' >u");
    const auto two = tail_of(agent, "f", 3, 9);
    CHECK(two.content == "bbb\nccc\n");
    CHECK(two.page.range.truncated);
    CHECK(!two.page.range.line_cut);
    CHECK(two.page.range.lines == 2);
    CHECK(tail_of(agent, "f", 3, 8).content == "bbb\nccc\n");
    CHECK(!tail_of(agent, "f", 2, 8).page.range.truncated);
    CHECK(!tail_of(agent, "f", 3, 12).page.range.truncated);
    const auto cut = tail_of(agent, "f", 3, 2);
    CHECK(cut.content == "c\n");
    CHECK(cut.page.range.line_cut);
    CHECK(cut.page.range.lines == 1);
    CHECK(tail_of(agent, "u", 1, 4).content == "\342\202\254");
    CHECK(tail_of(agent, "u", 1, 5).content == "\303\251\342\202\254");
}

TEST_CASE("a limit cuts between lines, else between characters, and says so") {
    LiveAgent agent;
    agent.shell("printf 'aaa\\nbbb\\nccc\\n' >f; printf 'x\\303\\251\\342\\202\\254\\n' >u; printf 'x\\351\\351\\351' >latin; head -c 10000000 /dev/zero | tr '\\0' z >long; printf '\\nend\\n' >>long");
    const auto two = lines_of(agent, "f", 1, 3, 9);
    CHECK(two.content == "aaa\nbbb\n");
    CHECK(two.page.range.truncated);
    CHECK(!two.page.range.line_cut);
    CHECK(two.page.next_line() == 3);
    CHECK(!lines_of(agent, "f", 1, 2, 8).page.range.truncated);
    CHECK(text_of(agent, "u", {.max_bytes = 2}).content == "x");
    CHECK(text_of(agent, "u", {.max_bytes = 3}).content == "x\303\251");
    CHECK(text_of(agent, "u", {.max_bytes = 5}).content == "x\303\251");
    CHECK(text_of(agent, "u", {.max_bytes = 6}).content == "x\303\251\342\202\254");
    CHECK(text_of(agent, "u", {.start = 1, .max_bytes = 1}).content == "\303"); // so that it goes on
    CHECK(text_of(agent, "latin", {.max_bytes = 2}).content == "x\351");
    CHECK(!text_of(agent, "latin").is_utf8);
    const auto cut = lines_of(agent, "long", 1, 2, 1000);
    CHECK(cut.content == std::string(1000, 'z'));
    CHECK(cut.page.range.line_cut);
    CHECK(cut.page.next_line() == 2);
    CHECK(cut.page.next_byte() == 1000);
    CHECK(lines_of(agent, "long", 2, 1, 1000).content == "end\n");
    CHECK(lines_of(agent, "long", 1, 1).content.size() == 10'000'001);
    agent.shell("truncate -s 10000000 one");
    CHECK(!lines_of(agent, "one", 1, 1, 1000).page.next_line());
    CHECK(lines_of(agent, "one", 1, 1, 1000).is_binary);
}

TEST_CASE("a page of a very large file is quick, and only the page comes") {
    LiveAgent agent;
    agent.shell("truncate -s 20G big; printf 'one\\ntwo\\nthree\\n' | dd of=big conv=notrunc 2>/dev/null; printf '\\nlast\\n' >>big");
    CHECK(lines_of(agent, "big", 2, 1).content == "two\n");
    CHECK(lines_of(agent, "big", 5, 1).content == "last\n");
    CHECK(text_of(agent, "big", {.start = 15ULL << 30, .count = 4}).content == std::string(4, '\0'));
    CHECK(code_of([&] { read_text(agent.link(), {.path = "big", .max_file = 1 << 20}); }) == "limit_exceeded");
}

TEST_CASE("what is no file that can be read is said, and waits for nobody") {
    LiveAgent agent;
    agent.shell("mkdir d; mkfifo pipe; mknod null c 1 3; ln -s loop loop; ln -s f link; echo text >f; ln -s nowhere dangling");
    CHECK(read_code(agent, "d") == "conflict");
    CHECK(read_code(agent, "pipe") == "conflict");
    CHECK(read_code(agent, "null") == "conflict");
    CHECK(read_code(agent, "loop") != "done");
    CHECK(read_code(agent, "nosuch") == "not_found");
    CHECK(read_code(agent, "dangling") == "not_found");
    CHECK(text_of(agent, "link").content == "text\n");
    CHECK(text_of(agent, "/proc/self/status").content.starts_with("Name:"));
    CHECK(lines_of(agent, "/proc/self/status", 1, 1).page.next_line() == 2);
}

TEST_CASE("what can be no path is said before anybody is asked") {
    const Link nowhere{[]() -> std::unique_ptr<Stream> { throw Error(ErrorCode::internal, "dialled"); }, {}, {}};
    for (const std::string& path : {std::string(70'000, 'x'), std::string("a\0b", 3)}) {
        CHECK(code_of([&] { list_files(nowhere, {.path = path}); }) == "usage");
        CHECK(code_of([&] { remove_file(nowhere, {.path = path}); }) == "usage");
    }
    LiveAgent agent;
    CHECK(read_code(agent, std::string(5000, 'x')) != "done"); // longer than a name, or a path, may be
    CHECK(write_code(agent, {.path = std::string(5000, 'x')}) != "done");
    CHECK(write_code(agent, {.path = std::string(300, 'x')}) != "done");
    CHECK(hidden_names(agent) == "");
}

TEST_CASE("a larger file than allowed is not read") {
    LiveAgent agent;
    agent.shell("printf 12345 >f");
    CHECK(code_of([&] { read_text(agent.link(), {.path = "f", .max_file = 4}); }) == "limit_exceeded");
    CHECK(read_text(agent.link(), {.path = "f", .max_file = 5}).content == "12345");
}

TEST_CASE("nothing leads out of the workdir") {
    LiveAgent agent;
    agent.shell("mkdir ../outside; echo out >../outside/f; ln -s ../outside outside; ln -s \"$PWD/../outside/f\" absolute; ln -s ../outside/new dangling; mkdir d; ln -s .. d/up; echo in >f");
    for (const std::string path : {"outside/f", "../outside/f", "absolute", "d/../../outside/f", "d/up/../outside/f"}) {
        CAPTURE(path);
        CHECK(read_code(agent, path) == "denied");
        CHECK(write_code(agent, {.path = path}) == "denied");
    }
    CHECK(write_code(agent, {.path = "dangling"}) == "denied");
    CHECK(write_code(agent, {.path = "outside/new", .make_parents = true}) == "denied");
    CHECK(remove_code(agent, {.path = "outside/f"}) == "denied");
    CHECK(remove_code(agent, {.path = "../outside/f", .ignore_missing = true}) == "denied");
    CHECK(code_of([&] { make_directory(agent.link(), {.path = "outside/x", .mode = {}, .make_parents = true}); }) == "denied");
    CHECK(code_of([&] { list_files(agent.link(), {.path = "outside"}); }) == "denied");
    CHECK(text_of(agent, "d/up/f").content == "in\n");
    CHECK(remove_file(agent.link(), {.path = "outside"}) == 1); // the link alone
    CHECK(content(agent, "../outside/f") == "out\n");
    CHECK(agent.shell("ls ../outside") == "f");
}

TEST_CASE("an absolute link that stays in the workdir leads there") {
    LiveAgent agent;
    agent.shell("mkdir -p releases/1 releases/2; echo one >releases/1/f; ln -s \"$PWD/releases/1\" current; ln -s \"$PWD/current/f\" file; ln -s \"$PWD/new\" fresh; ln -s \"$PWD\" self");
    CHECK(text_of(agent, "current/f").content == "one\n");
    CHECK(text_of(agent, "file").content == "one\n");
    CHECK(text_of(agent, "self/self/current/f").content == "one\n");
    CHECK(text_of(agent, agent.workdir() + "/current/f").content == "one\n");
    CHECK(listed(agent, "current") == "f ");
    CHECK(listed(agent, "current", 0) == "current ");
    CHECK(!write(agent, {.path = "file"}, "changed").created);
    CHECK(content(agent, "releases/1/f") == "changed");
    CHECK(S_ISLNK(stat_of(agent, "file").st_mode));
    CHECK(write(agent, {.path = "fresh"}, "x").created);
    CHECK(content(agent, "new") == "x");
    CHECK(make_directory(agent.link(), {.path = "current/a/b", .mode = {}, .make_parents = true}));
    CHECK(S_ISDIR(stat_of(agent, "releases/1/a/b").st_mode));
    CHECK(remove_file(agent.link(), {.path = "current/a", .recursive = true}) == 2);
    CHECK(write_code(agent, {.path = "self"}) == "conflict");
    CHECK(remove_code(agent, {.path = "self/.", .recursive = true}) == "conflict");
    CHECK(remove_code(agent, {.path = "current/../../1/../..", .recursive = true}) == "conflict");
    CHECK(remove_file(agent.link(), {.path = "current", .recursive = true}) == 1); // the link alone
    CHECK(agent.shell("ls releases") == "1\n2");
}

TEST_CASE("a link that changes under the reader never leads out") {
    LiveAgent agent;
    agent.shell("mkdir real ../outside; echo in >real/f; echo out >../outside/f; ln -s real a");
    ExecRequest swap;
    swap.argv = {"sh", "-c", "(while :; do ln -sfn ../outside a; ln -sfn real a; done) >/dev/null 2>&1 & echo $!"};
    const std::string pid = agent.run(swap).out;
    int inside = 0;
    for (int i = 0; i < 300; ++i) {
        const std::string code = code_of([&] {
            const std::string content = text_of(agent, "a/f").content;
            CHECK(content == "in\n");
            ++inside;
        });
        CHECK_MESSAGE((code == "done" || code == "denied" || code == "not_found"), code);
        write_code(agent, {.path = "a/written"});
    }
    agent.shell("kill -9 " + pid);
    CHECK(inside > 0);
    CHECK(agent.shell("ls ../outside") == "f");
}

TEST_CASE("a file is written whole, keeps its mode, and may be new") {
    LiveAgent agent;
    const auto made = write(agent, {.path = "f"}, "one");
    CHECK(made.created);
    CHECK(made.bytes == 3);
    CHECK(made.mode == 0644);
    CHECK(content(agent, "f") == "one");
    agent.shell("chmod 4750 f");
    const auto replaced = write(agent, {.path = "f"}, "");
    CHECK(!replaced.created);
    CHECK(replaced.mode == 0750); // without set-user-ID
    CHECK(content(agent, "f") == "");
    CHECK(write(agent, {.path = "f", .mode = 0600}, "x").mode == 0600);
    CHECK((stat_of(agent, "f").st_mode & 07777) == 0600);
    const std::string large(5'000'000, 'l');
    CHECK(write(agent, {.path = "deep/er/f", .make_parents = true}, large).size == large.size());
    CHECK(content(agent, "deep/er/f") == large);
    CHECK(write_code(agent, {.path = "no/such/f"}) == "not_found");
    CHECK(hidden_names(agent) == "");
}

TEST_CASE("a write goes through a link that stays inside, and on to nothing else than a file") {
    LiveAgent agent;
    agent.shell("mkdir d; echo old >d/target; ln -s d/target link; ln -s d/new fresh; ln -s d dir; mkfifo pipe; mknod null c 1 3; ln loop loop 2>/dev/null; ln -s loop loop");
    CHECK(!write(agent, {.path = "link"}, "new").created);
    CHECK(content(agent, "d/target") == "new");
    CHECK(S_ISLNK(stat_of(agent, "link").st_mode));
    CHECK(write(agent, {.path = "fresh"}, "made").created);
    CHECK(content(agent, "d/new") == "made");
    for (const std::string path : {"d", "dir", "pipe", "null", "loop", "d/", ".", "", "newdir/"}) {
        CAPTURE(path);
        CHECK(write_code(agent, {.path = path}) == "conflict");
        CHECK(write_code(agent, {.path = path, .append = true}) == "conflict");
    }
    CHECK(S_ISFIFO(stat_of(agent, "pipe").st_mode));
}

TEST_CASE("more than the limit changes nothing") {
    LiveAgent agent;
    agent.shell("printf 12345 >f");
    CHECK(write_code(agent, {.path = "f", .max_file = 2}) == "limit_exceeded");
    CHECK(write_code(agent, {.path = "new", .max_file = 2}) == "limit_exceeded");
    CHECK(write_code(agent, {.path = "f", .append = true, .max_file = 7}) == "limit_exceeded");
    CHECK(write_code(agent, {.path = "f", .max_file = 100}, std::string(3'000'000, 'x')) == "limit_exceeded");
    CHECK(content(agent, "f") == "12345");
    CHECK(stat_of(agent, "new").st_mode == 0);
    CHECK(write(agent, {.path = "f", .append = true, .max_file = 8}, "678").size == 8);
    CHECK(hidden_names(agent) == "");
}

TEST_CASE("adding to a file is done in place, and makes one where none is") {
    LiveAgent agent;
    agent.shell("printf one >f; chmod 640 f; ln f other");
    const auto added = write(agent, {.path = "f", .append = true}, "two");
    CHECK(added.bytes == 3);
    CHECK(added.size == 6);
    CHECK(added.mode == 0640);
    CHECK(content(agent, "other") == "onetwo");
    CHECK(write(agent, {.path = "new", .append = true}, "x").created);
    CHECK(write(agent, {.path = "f", .append = true}, "").size == 6);
}

TEST_CASE("a writer that gives up changes nothing") {
    LiveAgent agent;
    agent.shell("printf old >f");
    for (const bool append : {false, true}) {
        int calls = 0;
        const auto broken = [&](std::span<char> buffer, const auto&) -> std::size_t {
            if (++calls > 2) throw Error(ErrorCode::io_error, "the input broke");
            return std::string(1000, 'x').copy(buffer.data(), buffer.size());
        };
        CHECK(code_of([&] { write_file(agent.link(), broken, {.path = "f", .append = append}); }) == "io_error");
        CHECK(content(agent, "f") == "old");
    }
    // Hung up without a word, in the middle of a frame.
    {
        sandbox::agent::WriteFileRequest request;
        request.path = "f";
        auto connection = open_live_connection(agent.link(), sandbox::agent::Operation::files, sandbox::agent::encode(sandbox::agent::FilesRequest(request)));
        connection.write(sandbox::agent::FrameType::data, "half");
        connection.write(std::string_view("\xff\0\0\0", 4));
    }
    CHECK(eventually([&] { return hidden_names(agent) == ""; }));
    CHECK(content(agent, "f") == "old");
}

TEST_CASE("of many writers at once one wins, whole") {
    LiveAgent agent;
    std::vector<std::thread> writers;
    for (char c = 'a'; c < 'i'; ++c) {
        writers.emplace_back([&agent, c] {
            for (int i = 0; i < 5; ++i) write(agent, {.path = "f"}, std::string(200'000, c));
        });
    }
    for (auto& writer : writers) writer.join();
    const std::string last = content(agent, "f");
    CHECK(last == std::string(200'000, last.front()));
    CHECK(hidden_names(agent) == "");
}

TEST_CASE("additions of many at once are all there, none of them mixed with another") {
    LiveAgent agent;
    std::vector<std::thread> writers;
    for (char c = 'a'; c < 'i'; ++c) {
        writers.emplace_back([&agent, c] {
            for (int i = 0; i < 5; ++i) write(agent, {.path = "log", .append = true}, std::string(99, c) + "\n");
        });
    }
    for (auto& writer : writers) writer.join();
    const auto log = lines_of(agent, "log", 1);
    CHECK(log.page.range.lines == 40);
    for (const auto& line : split(log.content.substr(0, log.content.size() - 1), '\n')) CHECK(line == std::string(99, line.front()));
}

TEST_CASE("a file that is replaced stays its owner's, where root may give it") {
    LiveAgent agent;
    agent.shell("echo x >f; chown 1000:1001 f");
    write(agent, {.path = "f"}, "new");
    CHECK(stat_of(agent, "f").st_uid == 1000);
    CHECK(stat_of(agent, "f").st_gid == 1001);
}

TEST_CASE("nothing is removed for a client that has hung up") {
    LiveAgent agent;
    agent.shell("mkdir d; cd d; for i in $(seq 600); do echo >$i; done");
    // All is said before the agent reads any of it.
    REQUIRE(::kill(agent.pid(), SIGSTOP) == 0);
    sandbox::agent::RemoveRequest request;
    request.path = "d";
    request.recursive = true;
    auto stream = agent.link().dial();
    stream->write(sandbox::agent::encode(sandbox::agent::OpenMessage{sandbox::agent::k_protocol_version, sandbox::agent::Operation::files, {}}) +
                  sandbox::agent::encode(sandbox::agent::FilesRequest(request)));
    stream->shutdown_write();
    REQUIRE(::kill(agent.pid(), SIGCONT) == 0);
    char buffer[4096];
    while (stream->read(buffer) > 0) {}
    CHECK(agent.shell("ls d | wc -l") == "600");
}

TEST_CASE("directories are made, with those on the way if wanted") {
    LiveAgent agent;
    CHECK(make_directory(agent.link(), {.path = "d"}));
    CHECK((stat_of(agent, "d").st_mode & 07777) == 0755);
    CHECK(code_of([&] { make_directory(agent.link(), {.path = "d"}); }) == "exists");
    CHECK(code_of([&] { make_directory(agent.link(), {.path = "x/y"}); }) == "not_found");
    CHECK(make_directory(agent.link(), {.path = "x/y/z/", .mode = 0700, .make_parents = true}));
    CHECK((stat_of(agent, "x/y/z").st_mode & 07777) == 0700);
    CHECK((stat_of(agent, "x").st_mode & 07777) == 0755);
    CHECK(!make_directory(agent.link(), {.path = "x/y", .mode = 0700, .make_parents = true}));
    CHECK((stat_of(agent, "x/y").st_mode & 07777) == 0755);
    CHECK(!make_directory(agent.link(), {.path = ".", .mode = {}, .make_parents = true}));
    agent.shell("touch f; ln -s d link");
    CHECK(code_of([&] { make_directory(agent.link(), {.path = "f", .mode = {}, .make_parents = true}); }) == "conflict");
    for (const std::string path : {"f/g", "f/g/h", "f/"}) {
        CAPTURE(path);
        CHECK(code_of([&] { make_directory(agent.link(), {.path = path, .mode = {}, .make_parents = true}); }) == "conflict");
        CHECK(write_code(agent, {.path = path}) == "conflict");
        CHECK(write_code(agent, {.path = path, .make_parents = true}) == "conflict");
        CHECK(read_code(agent, path) == "conflict");
        CHECK(remove_code(agent, {.path = path, .ignore_missing = true}) == "conflict");
        CHECK(code_of([&] { list_files(agent.link(), {.path = path}); }) == "conflict");
    }
    CHECK(!make_directory(agent.link(), {.path = "link", .mode = {}, .make_parents = true}));
}

TEST_CASE("files and trees are removed, and links themselves") {
    LiveAgent agent;
    agent.shell("mkdir -p t/a/b kept; touch t/a/b/f t/g kept/k; ln -s ../kept t/link; ln -s kept link");
    CHECK(remove_code(agent, {.path = "t"}) == "conflict");
    CHECK(remove_file(agent.link(), {.path = "t", .recursive = true}) == 6);
    CHECK(remove_code(agent, {.path = "link/", .recursive = true}) == "conflict");
    CHECK(remove_file(agent.link(), {.path = "link", .recursive = true}) == 1);
    CHECK(agent.shell("ls") == "kept");
    CHECK(agent.shell("ls kept") == "k");
    CHECK(remove_code(agent, {.path = "nosuch"}) == "not_found");
    CHECK(remove_code(agent, {.path = "no/such"}) == "not_found");
    CHECK(remove_file(agent.link(), {.path = "nosuch", .ignore_missing = true}) == 0);
    CHECK(remove_file(agent.link(), {.path = "no/such", .ignore_missing = true}) == 0);
}

TEST_CASE("what cannot be removed is named by its whole path") {
    LiveAgent::Options options;
    options.prefix = {"setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"};
    LiveAgent agent(std::move(options));
    agent.shell("mkdir -p t/sub/others t/sub/closed");
    REQUIRE(::chown((agent.workdir() + "/t/sub/closed").c_str(), 1000, 1000) == 0);
    REQUIRE(::chmod((agent.workdir() + "/t/sub/closed").c_str(), 0700) == 0);
    const auto message = [&](const std::string& path) -> std::string {
        try {
            remove_file(agent.link(), {.path = path, .recursive = true});
        } catch (const Error& error) {
            return error.message();
        }
        return "done";
    };
    CHECK(message("t") == "cannot open directory \"t/sub/closed\": Permission denied");
    CHECK(message("t/sub/") == "cannot open directory \"t/sub/closed\": Permission denied");
    CHECK(message(agent.workdir() + "/t/sub/closed") == "cannot open directory \"" + agent.workdir() + "/t/sub/closed\": Permission denied");
    CHECK(::chown((agent.workdir() + "/t/sub").c_str(), 1000, 1000) == 0);
    CHECK(::chown((agent.workdir() + "/t/sub/closed").c_str(), 0, 0) == 0);
    CHECK(message("t") == "cannot remove \"t/sub/closed\": Permission denied");
}

TEST_CASE("a list ends where its names need more room than so many do") {
    LiveAgent agent;
    agent.shell("mkdir long; cd long; target=$(printf '%04000d' 0); for i in $(seq 1000 1300); do ln -s $target $i; done");
    const auto list = list_files(agent.link(), {.path = "long", .max_entries = 310});
    CHECK(list.truncated);
    CHECK(list.entries.size() == 261); // 1 MiB of names and links
    CHECK(list_files(agent.link(), {.path = "long", .max_entries = 10'000}).entries.size() == 301);
}

TEST_CASE("the workdir and what it is in are never removed") {
    LiveAgent agent;
    agent.shell("touch kept; mkdir d");
    const std::string above = agent.session_directory();
    const std::string workdir = agent.workdir();
    // Never "/": a test that fails must not take the machine along.
    for (const std::string& path : std::vector<std::string>{"", ".", "./", "d/.", "d/..", workdir, workdir + "/.", above, "/tmp/.." + workdir}) {
        CAPTURE(path);
        CHECK(remove_code(agent, {.path = path, .recursive = true, .ignore_missing = true}) == "conflict");
    }
    CHECK(remove_code(agent, {.path = "../workspace", .recursive = true, .ignore_missing = true}) == "denied");
    CHECK(agent.shell("ls") == "d\nkept");
}

TEST_CASE("the messages take nothing that the encoding could not have made") {
    using namespace sandbox::agent;
    const auto payload = [](const std::string& frame) { return frame.substr(5); };
    ReadFileRequest read;
    read.path = "f";
    read.page = {PageUnit::lines, 3, 4, 5};
    const auto back = std::get<ReadFileRequest>(decode_files_request(payload(encode(FilesRequest(read)))));
    CHECK(back.path == "f");
    CHECK(back.page.start == 3);
    CHECK(back.page.max_bytes == 5);
    read.page.start = 0;
    CHECK_THROWS_AS(decode_files_request(payload(encode(FilesRequest(read)))), WireError);
    CHECK_THROWS_AS(decode_files_request(std::string("\x09\0\0\0\0", 5)), WireError);
    CHECK_THROWS_AS(decode_files_request(""), WireError);
    for (const std::string bad : {"", "..", "a/../b", "/a", "a//b"}) {
        CAPTURE(bad);
        EntriesMessage message;
        message.entries.emplace_back();
        message.entries[0].path = bad;
        CHECK_THROWS_AS(decode_entries(payload(encode(message))), WireError);
    }
    CHECK_THROWS_AS(decode_entries(std::string("\0\0\xff\xff\xff\xff", 6)), WireError);
    PageMessage page;
    page.range.size = 1;
    page.range.end = 2;
    CHECK_THROWS_AS(decode_page(payload(encode(page))), WireError);
}
