// SPDX-License-Identifier: Apache-2.0
// Copies that fail: limits, full disks, files that change, cut streams. The target is as it was after each.
#include "fixture.hpp"

#include "agent/files_messages.hpp"
#include "util/tree_record.hpp"

#include <csignal>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::tests;

namespace {

// A file system of 1 MiB, which root can mount. Without it the test cannot tell anything, so that fails it.
class SmallDisk {
  public:
    explicit SmallDisk(std::string path) : m_path(std::move(path)) {
        make_directories(m_path, 0755);
        REQUIRE(::mount("tmpfs", m_path.c_str(), "tmpfs", 0, "size=1m") == 0);
    }
    ~SmallDisk() { ::umount2(m_path.c_str(), MNT_DETACH); }

  private:
    std::string m_path;
};

// An agent that says what `serve` writes, after the request has come.
Peer scripted(std::function<void(agent::FramedStream&)> serve) {
    return Peer([serve = std::move(serve)](agent::FramedStream& connection) {
        connection.read_frame(); // open
        connection.read_frame(); // get
        try {
            serve(connection);
        } catch (const Error&) {
            // The client went away, as it should.
        }
    });
}

std::string records(const std::function<void(TreeEncoder&)>& write) {
    std::string bytes;
    TreeEncoder encoder([&](std::string_view chunk) { bytes += chunk; });
    write(encoder);
    encoder.flush();
    return bytes;
}

TreeRecord record(TreeType type, std::string path, std::uint64_t size = 0, std::string link = {}) {
    TreeRecord made;
    made.type = type;
    made.mode = 0755;
    made.path = std::move(path);
    made.size = size;
    made.link = std::move(link);
    return made;
}

} // namespace

TEST_CASE_FIXTURE(Fixture, "a full disk is no_space, keeps the old file and leaves nothing behind") {
    const SmallDisk disk(workdir + "/small");
    write_file(workdir + "/small/old", "old");
    write_file(host + "/big", std::string(10 << 20, 'x'));
    CHECK(error_of([&] { put(host + "/big", "small/old"); }).first == ErrorCode::no_space);
    CHECK(content_of(workdir + "/small/old") == "old");
    worker.join();
    CHECK(describe(workdir).find(".sandbox") == std::string::npos);

    const SmallDisk here(host + "/small");
    write_file(host + "/small/old", "old");
    write_file(workdir + "/big", std::string(10 << 20, 'x'));
    CHECK(error_of([&] { get("big", host + "/small/old"); }).first == ErrorCode::no_space);
    CHECK(describe(host + "/small", false).find("old 33188 old") != std::string::npos);
    CHECK(describe(host).find(".sandbox") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a full disk refuses an entry and keeps the old one") {
    const SmallDisk disk(workdir + "/small");
    write_file(workdir + "/small/old", "old");
    const std::vector<channel::Entry> entries{{"small/old", channel::Entry::Kind::file, std::string(3 << 20, 'x'), {}}};
    CHECK(error_of([&] { channel::put_entries(worker.link(), entries); }).first == ErrorCode::no_space);
    worker.join();
    CHECK(content_of(workdir + "/small/old") == "old");
    CHECK(describe(workdir).find(".sandbox") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a file over the limit is named with size and limit, and nothing is replaced") {
    make_directories(host + "/dir", 0755);
    write_file(host + "/dir/large", std::string(2000, 'x'));
    make_directories(workdir + "/dir", 0755);
    write_file(workdir + "/dir/large", "old");
    channel::PutOptions options;
    options.target = "dir";
    options.max_file = 1999;
    auto [code, text] = error_of([&] { channel::put_tree(worker.link(), host + "/dir/.", options); });
    CHECK(code == ErrorCode::limit_exceeded);
    for (const char* part : {"large", "2000", "1999"}) CHECK(text.find(part) != std::string::npos);
    CHECK(content_of(workdir + "/dir/large") == "old");
    options.max_file = 2000;
    CHECK_NOTHROW(channel::put_tree(worker.link(), host + "/dir/.", options));
    const auto out = error_of([&] { channel::get_tree(worker.link(), {"dir/large", host + "/got", 1999}); });
    CHECK(out.first == ErrorCode::limit_exceeded);
    CHECK_FALSE(exists(host + "/got"));
}

TEST_CASE("the receiver holds the limit against an agent that does not") {
    Fixture fixture;
    Peer liar = scripted([](agent::FramedStream& connection) {
        connection.write(agent::FrameType::data, records([](TreeEncoder& out) { out.record(record(TreeType::file, "", 5000)); }));
    });
    const auto [code, text] = error_of([&] { channel::get_tree(liar.link(), {"f", fixture.host + "/f", 4999}); });
    CHECK(code == ErrorCode::limit_exceeded);
    CHECK_FALSE(exists(fixture.host + "/f"));
}

TEST_CASE("a stream cut at any byte, or without its last word, changes nothing") {
    const std::string tree = records([](TreeEncoder& out) {
        out.record(record(TreeType::directory, ""));
        out.record(record(TreeType::file, "a", 5));
        out.bytes("hello");
        out.record(record(TreeType::symlink, "l", 0, "a"));
    });
    for (std::size_t length = 0; length <= tree.size(); length += 3) {
        for (const bool has_end : {false, true}) {
            CAPTURE(length);
            CAPTURE(has_end);
            Fixture fixture;
            write_file(fixture.host + "/old", "old");
            Peer cutter = scripted([&](agent::FramedStream& connection) {
                if (length > 0) connection.write(agent::FrameType::data, std::string_view(tree).substr(0, length));
                if (has_end) connection.write(agent::FrameType::data, {});
            });
            CHECK_THROWS_AS(channel::get_tree(cutter.link(), {"d", fixture.host + "/d", {}}), Error);
            CHECK(describe(fixture.host, false).find("/d") == std::string::npos);
            CHECK(describe(fixture.host).find(".sandbox") == std::string::npos);
        }
    }
}

TEST_CASE_FIXTURE(Fixture, "a client that goes away in the middle leaves nothing in the session") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    agent::FramedStream server(std::make_unique<SocketStream>(Fd(ends[1])));
    {
        agent::FramedStream client(std::make_unique<SocketStream>(Fd(ends[0])));
        client.write(agent::encode(agent::PutMessage{"f", "", false, false, {}}));
        client.write(agent::FrameType::data, records([](TreeEncoder& out) {
                         out.record(record(TreeType::file, "", 5));
                         out.bytes("hel");
                     }));
    }
    agent::SessionContext context;
    context.workdir = workdir;
    CHECK(agent::run_file_worker(server, agent::Operation::put_tree, agent::k_protocol_version, context) == 1);
    CHECK(describe(workdir, false) == " 16877\n");
}

TEST_CASE_FIXTURE(Fixture, "a refusal reaches a sender that is in the middle of a large tree") {
    write_file(host + "/big", std::string(64 << 20, 'x'));
    const auto [code, text] = error_of([&] { put(host + "/big", "missing/x"); });
    CHECK(code == ErrorCode::not_found);
    CHECK(text.find("missing") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a refusal by an agent that closes at once reaches the sender") {
    Peer rude([](agent::FramedStream& connection) {
        connection.read_frame();
        connection.write(agent::encode(agent::FailureMessage{"no_space", "no \x1b[31mroom"}));
    });
    write_file(host + "/big", std::string(8 << 20, 'x'));
    channel::PutOptions options;
    options.target = "x";
    const auto [code, text] = error_of([&] { channel::put_tree(rude.link(), host + "/big", options); });
    CHECK(code == ErrorCode::no_space);
    CHECK(text == "no \\x1b[31mroom");
}

TEST_CASE_FIXTURE(Fixture, "an agent that dies is session_unreachable, either way") {
    Peer dead([](agent::FramedStream& connection) { connection.read_frame(); });
    write_file(host + "/big", std::string(8 << 20, 'x'));
    channel::PutOptions options;
    options.target = "x";
    CHECK(error_of([&] { channel::put_tree(dead.link(), host + "/big", options); }).first == ErrorCode::session_unreachable);
    CHECK(error_of([&] { channel::get_tree(dead.link(), {"x", host + "/x", {}}); }).first == ErrorCode::session_unreachable);
}

TEST_CASE_FIXTURE(Fixture, "an agent cannot choose codes that mean something about the host") {
    Peer liar = scripted([](agent::FramedStream& connection) {
        connection.write(agent::encode(agent::FailureMessage{"engine_unreachable", std::string(100'000, 'm')}));
    });
    const auto [code, text] = error_of([&] { channel::get_tree(liar.link(), {"x", host + "/x", {}}); });
    CHECK(code == ErrorCode::failed);
    CHECK(text.size() <= 4096);
}

TEST_CASE_FIXTURE(Fixture, "a file that shrinks while it is read fails the copy, one that grows is cut to its size") {
    const std::string path = host + "/changing";
    write_file(path, std::string(4 << 20, 'a'));
    Peer slow([&](agent::FramedStream& connection) {
        connection.read_frame();
        connection.read_frame();
        REQUIRE(::truncate(path.c_str(), 1000) == 0);
        while (connection.read_view()) {}
    });
    channel::PutOptions options;
    options.target = "x";
    const auto [code, text] = error_of([&] { channel::put_tree(slow.link(), path, options); });
    CHECK(code == ErrorCode::failed);
    CHECK(text.find("shorter") != std::string::npos);

    write_file(path, std::string(4 << 20, 'a'));
    Peer growing([&](agent::FramedStream& connection) {
        connection.read_frame();
        const Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
        write_all(file.get(), std::string(1 << 20, 'b'));
        agent::SessionContext context;
        context.workdir = workdir;
        agent::run_file_worker(connection, agent::Operation::put_tree, agent::k_protocol_version, context);
    });
    CHECK(channel::put_tree(growing.link(), path, options).bytes == 4 << 20);
    CHECK(stat_of(workdir + "/x").st_size == 4 << 20);
}

TEST_CASE_FIXTURE(Fixture, "a file that shrinks before it is read does not pass for one with a hole at its end") {
    const std::string path = host + "/changing";
    write_file(path, std::string(4 << 20, 'a'));
    channel::Link link = worker.link();
    link.dial = [&, dial = link.dial] {
        REQUIRE(::truncate(path.c_str(), 1000) == 0); // between the look at the source and the reading of it
        return dial();
    };
    channel::PutOptions options;
    options.target = "x";
    CHECK(error_of([&] { channel::put_tree(link, path, options); }).first == ErrorCode::failed);
    worker.join();
    CHECK(describe(workdir, false) == " 16877\n");
}

TEST_CASE_FIXTURE(Fixture, "a signal ends a copy whose session is stuck, and nothing is left") {
    Peer stuck = scripted([](agent::FramedStream& connection) {
        connection.write(agent::FrameType::data, records([](TreeEncoder& out) { out.record(record(TreeType::directory, "")); }));
        while (connection.read_view()) {}
    });
    const pthread_t self = ::pthread_self();
    std::thread killer([self] {
        ::usleep(200'000);
        ::pthread_kill(self, SIGINT);
    });
    const auto [code, text] = error_of([&] { channel::get_tree(stuck.link(), {"x", host + "/x", {}}); });
    killer.join();
    CHECK(code == ErrorCode::interrupted);
    CHECK(describe(host, false) == " 16877\n");
}
