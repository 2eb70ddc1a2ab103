// SPDX-License-Identifier: Apache-2.0
// What is kept of a managed process, and of all of them: the log, the table, the messages, and when one is ready.
#include "agent/process_log.hpp"
#include "agent/process_table.hpp"
#include "agent/readiness.hpp"

#include <doctest/doctest.h>

using namespace sandbox::agent;

namespace {

struct Read {
    std::string text;
    std::uint64_t holes = 0;
    std::uint64_t next = 0;
};

Read read_from(const ProcessLog& log, std::uint64_t offset, std::size_t most = 1000) {
    Read read;
    for (auto piece = log.at(offset, most); piece; piece = log.at(offset, most)) {
        read.holes += piece->offset - offset;
        read.text += piece->bytes;
        offset = piece->end();
    }
    read.next = offset;
    return read;
}

ManagedInfo named(const std::string& name) {
    ManagedInfo info;
    info.name = name;
    return info;
}

} // namespace

TEST_CASE("a log gives both streams in the order in which they came") {
    ProcessLog log(1000);
    CHECK_FALSE(log.at(0, 10));
    log.add(LogStream::out, "one ", 100);
    log.add(LogStream::out, "two ", 101);
    log.add(LogStream::err, "bad ", 102);
    log.add(LogStream::out, "three", 103);
    CHECK(log.end() == 17);
    CHECK(read_from(log, 0).text == "one two bad three");
    CHECK(read_from(log, 0, 1).text == "one two bad three");
    CHECK(read_from(log, 6).text == "o bad three");
    CHECK(read_from(log, 17).text.empty());
    CHECK(log.at(0, 100)->bytes == "one two "); // within a moment
    CHECK(log.at(8, 100)->stream == LogStream::err);
}

TEST_CASE("each stream of a log loses its oldest bytes, and not the other's") {
    ProcessLog log(10);
    log.add(LogStream::err, "keep", 1);
    for (int i = 0; i < 100; ++i) log.add(LogStream::out, "0123456", 100 + i * 20);
    const Read read = read_from(log, 0);
    CHECK(read.text == "keep4560123456");
    CHECK(read.holes == 690);
    CHECK(read.next == 704);
    log.add(LogStream::out, std::string(5000, 'x') + "end", 9000);
    CHECK(read_from(log, 0).text == "keepxxxxxxxend");
    CHECK(log.end() == 704 + 5003);
}

TEST_CASE("a log of single bytes costs no more than its bound allows, whatever their order") {
    ProcessLog log(1 << 10);
    for (int i = 0; i < 100'000; ++i) log.add(i % 2 == 0 ? LogStream::out : LogStream::err, "x", i);
    const Read read = read_from(log, 0);
    CHECK(read.next == 100'000);
    CHECK(read.text.size() <= 2048);
    CHECK(read.text.size() >= 400);
}

TEST_CASE("a log knows where the last lines begin, and what came since") {
    ProcessLog log(1000);
    log.add(LogStream::out, "a\nb\n", 1000);
    log.add(LogStream::err, "c\n", 2000);
    log.add(LogStream::out, "d", 3000);
    CHECK(log.tail(0) == 7);
    CHECK(log.tail(1) == 6);
    CHECK(log.tail(2) == 4);
    CHECK(log.tail(3) == 2);
    CHECK(log.tail(4) == 0);
    CHECK(log.tail(9) == 0);
    log.add(LogStream::out, "\n", 3000);
    CHECK(log.tail(1) == 6);
    CHECK(log.since(0) == 0);
    CHECK(log.since(1001) == 4);
    CHECK(log.since(2500) == 6);
    CHECK(log.since(3001) == 8);
    CHECK(ProcessLog(10).tail(3) == 0);
}

namespace {

// The keeper's command is executed.
void tell(ProcessTable& table, pid_t keeper) { table.update(*table.of_keeper(keeper), table.of_keeper(keeper)->info); }

} // namespace

TEST_CASE("the table: what is not started has no id, and nobody finds it") {
    ProcessTable table;
    CHECK(table.claim(named("web"), 9, 10).id == "p1");
    CHECK(table.find("web") == nullptr);
    CHECK(table.find("p1") == nullptr);
    const auto taken = table.claim(named("web"), 9, 11);
    CHECK(taken.code == "exists");
    CHECK(taken.text.find("is being started") != std::string::npos);
    table.remove(10);
    CHECK(table.claim(named("web"), 9, 12).id == "p1");
    tell(table, 12);
    CHECK(table.find("web")->info.id == "p1");
    // One behind it may have been started meanwhile.
    CHECK(table.claim(named("bad"), 9, 13).id == "p2");
    CHECK(table.claim(named("good"), 9, 14).id == "p3");
    tell(table, 14);
    table.remove(13);
    CHECK(table.claim(named("next"), 9, 15).id == "p4");
    // Nor is the id of one that was started ever given again.
    tell(table, 15);
    table.remove(15);
    CHECK(table.claim(named("last"), 9, 16).id == "p5");
}

TEST_CASE("the table: a name is taken by what its process has left running, too, and that is said") {
    ProcessTable table;
    table.claim(named("web"), 9, 10);
    tell(table, 10);
    CHECK(table.claim(named("web"), 9, 11).text.find("runs already (p1)") != std::string::npos);
    ManagedInfo ended = table.find("web")->info;
    ended.state = ManagedState::exited;
    ended.left_running = 2;
    table.update(*table.find("web"), ended);
    const auto taken = table.claim(named("web"), 9, 11);
    CHECK(taken.code == "exists");
    CHECK(taken.text.find("has ended (p1), but 2") != std::string::npos);
}

TEST_CASE("the table: names, how many may run, and which ended ones stay") {
    ProcessTable table;
    CHECK(table.claim(named("web"), 2, 10).id == "p1");
    CHECK(table.claim(named("web"), 2, 11).code == "exists");
    CHECK(table.claim(named(""), 2, 11).id == "p2");
    CHECK(table.claim(named("db"), 2, 12).code == "limit_exceeded");
    tell(table, 10);
    tell(table, 11);
    CHECK(table.find("web")->info.id == "p1");
    CHECK(table.find("p2")->keeper == 11);
    CHECK(table.find("we") == nullptr);
    CHECK(table.find("") == nullptr);
    ManagedInfo ended = table.find("web")->info;
    ended.state = ManagedState::exited;
    ended.left_running = 1;
    table.update(*table.find("web"), ended);
    CHECK(table.claim(named("db"), 2, 12).code == "limit_exceeded");
    ended.left_running = 0;
    table.update(*table.find("web"), ended);
    CHECK(table.claim(named("web"), 2, 12).id == "p3");
    tell(table, 12);
    CHECK(table.find("web")->info.id == "p3");
    table.lose(*table.of_keeper(12), 99);
    CHECK(table.find("p3")->info.state == ManagedState::aborted);
    CHECK(table.find("p3")->info.ended_ms == 99);
    CHECK(table.of_keeper(-1) == nullptr);
    const auto nobody = [](pid_t) { return false; };
    CHECK_FALSE(table.take_surplus(nobody));
    for (pid_t keeper = 100; keeper < 100 + 15; ++keeper) {
        REQUIRE(!table.claim(named(""), 2, keeper).id.empty());
        table.lose(*table.of_keeper(keeper), 100);
    }
    CHECK_FALSE(table.take_surplus([](pid_t) { return true; }));
    CHECK(table.take_surplus(nobody)->info.id == "p1");
    CHECK_FALSE(table.take_surplus(nobody));
    CHECK(table.find("p2")->info.is_running());
}

TEST_CASE("a text is found wherever its output is cut") {
    for (std::size_t cut = 0; cut <= 9; ++cut) {
        Readiness ready(0, "listening");
        const std::string text = "listening";
        ready.take(LogStream::out, "xxlis");
        ready.take(LogStream::err, text.substr(0, cut));
        CHECK(ready.is_reached() == (cut == 9));
        ready.take(LogStream::err, text.substr(cut));
        CHECK(ready.is_reached());
        ready.start_over();
        CHECK_FALSE(ready.is_reached());
        for (const char c : text) ready.take(LogStream::out, std::string(1, c));
        CHECK(ready.is_reached());
    }
}

TEST_CASE("messages of managed processes hold what they were made from, and no more than they may") {
    ManagedInfo info;
    info.id = "p12";
    info.name = "web";
    set_told_command(info, {"sh", "-c", std::string(5000, 'x'), "more"});
    CHECK(info.command_cut);
    CHECK(info.command.size() == 3);
    info.cwd = "/workspace";
    info.state = ManagedState::restarting;
    info.exit_status = -1;
    info.signal = 9;
    info.left_running = 2;
    const std::string frame = encode(info);
    const ManagedInfo same = decode_managed_info(frame.substr(5));
    CHECK(same.id == info.id);
    CHECK(same.command == info.command);
    CHECK(same.exit_status == -1);
    CHECK(same.signal == 9);
    CHECK(same.is_running());
    info.id = "p1\x1b[2J";
    CHECK_THROWS_AS(decode_managed_info(encode(info).substr(5)), WireError);
    info.id = "p1";
    info.name = "we b";
    CHECK_THROWS_AS(decode_managed_info(encode(info).substr(5)), WireError);
    for (std::size_t size = 0; size + 5 < frame.size(); ++size) CHECK_THROWS_AS(decode_managed_info(frame.substr(5, size)), WireError);
    CHECK(is_process_name("web-1.x"));
    CHECK_FALSE(is_process_name("p1"));
    CHECK_FALSE(is_process_name("-x"));
    CHECK_FALSE(is_process_name(std::string(64, 'a')));
}
