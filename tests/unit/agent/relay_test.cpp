// SPDX-License-Identifier: Apache-2.0
// The client's end of a forward against an agent that lies, and what is said about ports.
#include "agent/ports_messages.hpp"
#include "agent/tcp_relay.hpp"

#include <cerrno>
#include <doctest/doctest.h>
#include <map>
#include <sys/socket.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::agent;

namespace {

std::string word(StreamWord which, std::uint32_t stream, std::string_view rest = {}) {
    return Writer(FrameType::reply).u8(static_cast<std::uint8_t>(which)).u32(stream).raw(rest).finish().substr(5);
}

std::string number(std::uint32_t value) { return Writer(FrameType::reply).u32(value).finish().substr(5); }

// One stream whose socket's other end is `mine`.
struct Opened {
    Opened() {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        mine.reset(ends[0]);
        id = relay.open(Fd(ends[1]), 80);
        relay.consume(relay.outgoing().size());
    }
    void serve() {
        std::vector<pollfd> set;
        relay.watch(set);
        ::poll(set.data(), set.size(), 0);
        relay.serve(set);
    }
    TcpRelay relay{FrameType::request};
    Fd mine;
    std::uint32_t id = 0;
};

} // namespace

TEST_CASE("an agent that lies about streams is found out") {
    Opened one;
    CHECK_THROWS_AS(one.relay.take(""), WireError);
    CHECK_THROWS_AS(one.relay.take(word(StreamWord::open, 9, number(80))), WireError); // the client opens
    CHECK_THROWS_AS(one.relay.take(word(StreamWord::credit, one.id, number(k_largest_window))), WireError); // more than any window
    CHECK_THROWS_AS(one.relay.take(word(StreamWord::credit, one.id)), WireError);
    CHECK_THROWS_AS(one.relay.take(word(StreamWord::reset, one.id)), WireError);
    CHECK_THROWS_AS(one.relay.take(word(static_cast<StreamWord>(0), one.id)), WireError);
    CHECK_THROWS_AS(one.relay.take(word(StreamWord::data, one.id, std::string(k_least_window + 1, 'x'))), WireError);
    one.relay.take(word(StreamWord::end, one.id));
    CHECK_THROWS_AS(one.relay.take(word(StreamWord::end, one.id)), WireError);
    CHECK_THROWS_AS(one.relay.take(word(StreamWord::data, one.id, "x")), WireError);
    // What is said of a stream that is not there may have crossed with its end.
    one.relay.take(word(StreamWord::data, 9, "x"));
    CHECK(one.relay.streams() == 1);
}

TEST_CASE("no more is sent than the window, and more when credit comes") {
    Opened one;
    const std::string bytes(k_least_window + 1000, 'x');
    std::size_t written = 0;
    std::size_t sent = 0;
    Decoder decoder;
    set_nonblocking(one.mine.get(), true);
    const auto turn = [&] {
        const ssize_t count = ::send(one.mine.get(), bytes.data(), bytes.size() - written, MSG_NOSIGNAL);
        if (count > 0) written += static_cast<std::size_t>(count);
        one.serve();
        decoder.feed(one.relay.outgoing());
        one.relay.consume(one.relay.outgoing().size());
        while (const auto frame = decoder.next_view()) sent += frame->payload.size() - 5;
    };
    for (int i = 0; i < 50; ++i) turn();
    CHECK(written == bytes.size());
    CHECK(sent == k_least_window);
    one.relay.take(word(StreamWord::credit, one.id, number(1000)));
    turn();
    CHECK(sent == bytes.size());
}

TEST_CASE("the windows of streams whose sockets keep up grow, all of them together by so much") {
    TcpRelay relay(FrameType::request);
    constexpr std::size_t k_streams = 60; // more than may all have the largest window
    static_assert(k_streams * (k_largest_window - k_least_window) > k_max_growth);
    std::map<std::uint32_t, std::size_t> open_to; // how much may still be sent of each
    std::vector<std::pair<std::uint32_t, Fd>> readers;
    for (std::size_t i = 0; i < k_streams; ++i) {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        const std::uint32_t id = relay.open(Fd(ends[1]), 80);
        open_to[id] = k_least_window;
        readers.emplace_back(id, Fd(ends[0]));
    }
    relay.consume(relay.outgoing().size());
    std::string room(64 << 10, '\0');
    const auto pass_on = [&](std::uint32_t id, int reader) {
        relay.take(word(StreamWord::data, id, room));
        open_to[id] -= room.size();
        for (std::size_t left = room.size(); left > 0;) left -= read_some(reader, {room.data(), left});
        Decoder decoder;
        decoder.feed(relay.outgoing());
        while (const auto frame = decoder.next_view()) {
            Reader credit(frame->payload);
            REQUIRE(credit.u8() == static_cast<std::uint8_t>(StreamWord::credit));
            REQUIRE(credit.u32() == id);
            open_to[id] += credit.u32();
        }
        relay.consume(relay.outgoing().size());
    };
    for (int turn = 0; turn < 2; ++turn) {
        for (const auto& [id, reader] : readers) pass_on(id, reader.get());
    }
    CHECK(open_to[readers.front().first] > k_largest_window - k_largest_window / 4);
    CHECK(open_to[readers.back().first] <= k_least_window);
    std::size_t all = 0;
    for (const auto& [id, bytes] : open_to) all += bytes;
    CHECK(all <= k_streams * k_least_window + k_max_growth);
    // A stream that ends gives its window back.
    relay.take(word(StreamWord::reset, readers.front().first, number(0)));
    pass_on(readers.back().first, readers.back().second.get());
    CHECK(open_to[readers.back().first] > k_largest_window - k_largest_window / 4);
}

TEST_CASE("a refusal ends the stream, with its reason once") {
    Opened one;
    int told = 0;
    one.relay.on_cut = [&](std::uint32_t, std::uint16_t port, int error) {
        ++told;
        CHECK(port == 80);
        CHECK(error == ECONNREFUSED);
    };
    one.relay.take(word(StreamWord::reset, one.id, number(ECONNREFUSED)));
    one.relay.take(word(StreamWord::reset, one.id, number(ECONNREFUSED)));
    CHECK(told == 1);
    CHECK(one.relay.streams() == 0);
    char byte = 0;
    CHECK(::read(one.mine.get(), &byte, 1) == 0);
}

TEST_CASE("what is said about ports is checked") {
    const ListeningMessage message{PortState::waiting, {{std::string("\x7f\0\0\1", 4), 80, 7, "any\xff"}, {std::string(16, '\0'), 65535, 0, ""}}};
    const std::string payload = encode(message).substr(5);
    const ListeningMessage decoded = decode_listening(payload);
    CHECK(decoded.state == PortState::waiting);
    REQUIRE(decoded.entries.size() == 2);
    CHECK(decoded.entries[0].address == message.entries[0].address);
    CHECK(decoded.entries[0].process == "any\xff");
    CHECK(decoded.entries[1].port == 65535);
    for (std::size_t cut = 0; cut < payload.size(); ++cut) CHECK_THROWS_AS(decode_listening(payload.substr(0, cut)), WireError);
    CHECK_THROWS_AS(decode_listening(payload + "x"), WireError);
    CHECK_THROWS_AS(decode_listening(encode(ListeningMessage{PortState::listening, {{"abc", 80, 0, ""}}}).substr(5)), WireError);
    CHECK_THROWS_AS(decode_listening(encode(ListeningMessage{PortState::listening, {{"abcd", 0, 0, ""}}}).substr(5)), WireError);
    CHECK_THROWS_AS(decode_listening(encode(ListeningMessage{PortState::listening, {{"abcd", 80, 0, std::string(65, 'x')}}}).substr(5)), WireError);
    CHECK_THROWS_AS(decode_listening("\x02\xff\xff\xff\xff"), WireError);
    CHECK(decode_wait_port(encode_wait_port(8000).substr(5)) == 8000);
    CHECK_THROWS_AS(decode_wait_port(encode_wait_port(0).substr(5)), WireError);
    CHECK_THROWS_AS(decode_wait_port(""), WireError);
}
