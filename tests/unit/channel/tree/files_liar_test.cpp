// SPDX-License-Identifier: Apache-2.0
// An agent that lies about single files: what it says is bounded by what was asked for, and a cut answer is none.
#include "fixture.hpp"

#include "agent/files_messages.hpp"
#include "agent/files_request.hpp"
#include "channel/files.hpp"

#include <doctest/doctest.h>

using namespace sandbox;
using namespace sandbox::agent;
using namespace sandbox::tests;

namespace {

std::string name_of(ErrorCode code) { return std::string(error_code_name(code)); }

// Takes the open frame and the request, and then says its piece.
Peer::Serve liar(std::function<void(FramedStream&)> lie) {
    return [lie = std::move(lie)](FramedStream& connection) {
        if (connection.read_frame() && connection.read_frame()) lie(connection);
    };
}

PageMessage page_of(std::uint64_t begin, std::uint64_t end) {
    PageMessage page;
    page.range.size = end;
    page.range.begin = begin;
    page.range.end = end;
    return page;
}

std::string read_code(const Peer::Serve& serve, std::uint64_t max_bytes = 100) {
    Peer peer(serve);
    std::size_t got = 0;
    const auto [code, message] = error_of([&] {
        channel::ReadFileOptions options{.path = "f", .page = {.max_bytes = max_bytes}};
        channel::read_page(peer.link(), options, [&](std::string_view bytes, const auto&) { got += bytes.size(); });
    });
    CHECK(got <= max_bytes);
    CHECK(message.find('\033') == std::string::npos);
    return name_of(code);
}

std::string list_code(const Peer::Serve& serve) {
    Peer peer(serve);
    return name_of(error_of([&] { channel::list_files(peer.link(), {.path = ".", .max_entries = 3}); }).first);
}

EntriesMessage entries_of(std::size_t count) {
    EntriesMessage message;
    for (std::size_t i = 0; i < count; ++i) message.entries.emplace_back().path = "x";
    return message;
}

} // namespace

TEST_CASE("a page is no longer than was asked for and than was promised") {
    CHECK(read_code(liar([](FramedStream& to) { to.write(encode(page_of(0, 101))); })) == "protocol_error");
    CHECK(read_code(liar([](FramedStream& to) { to.write(encode(page_of(0, 5)) + frame_header(FrameType::data, 6) + "longer"); })) == "protocol_error");
    CHECK(read_code(liar([](FramedStream& to) { to.write(encode(page_of(5, 2))); })) == "protocol_error");
    CHECK(read_code(liar([](FramedStream& to) { to.write(FrameType::reply, "x"); })) == "protocol_error");
    CHECK(read_code(liar([](FramedStream& to) { to.write(FrameType::data, "x"); })) == "protocol_error");
    const auto says_other_length = [](FramedStream& to) {
        to.write(encode(page_of(0, 5)) + frame_header(FrameType::data, 1) + "x" + frame_header(FrameType::data, 0));
        to.write(encode(DoneMessage{1, 5, 0}));
    };
    CHECK(read_code(liar(says_other_length)) == "protocol_error");
}

TEST_CASE("a cut page is no success") {
    CHECK(read_code(liar([](FramedStream&) {})) == "session_unreachable");
    CHECK(read_code(liar([](FramedStream& to) { to.write(encode(page_of(0, 5)) + frame_header(FrameType::data, 5) + "whole"); })) == "session_unreachable");
    CHECK(read_code(liar([](FramedStream& to) { to.write(encode(page_of(0, 5)) + frame_header(FrameType::data, 5) + "ha"); })) == "session_unreachable");
}

TEST_CASE("what a failure says is no command for a terminal, and of its codes only those that it can mean") {
    CHECK(read_code(liar([](FramedStream& to) { to.write(encode(FailureMessage{"not_found", "\033[31mgone"})); })) == "not_found");
    CHECK(read_code(liar([](FramedStream& to) { to.write(encode(FailureMessage{"usage", "x"})); })) == "failed");
}

TEST_CASE("a list has an end and no path that leads anywhere") {
    CHECK(list_code(liar([](FramedStream& to) { to.write(encode(entries_of(4))); })) == "protocol_error");
    CHECK(list_code(liar([](FramedStream& to) { to.write(encode(entries_of(2)) + encode(entries_of(2))); })) == "protocol_error");
    CHECK(list_code(liar([](FramedStream& to) { to.write(encode(entries_of(0))); })) == "protocol_error");
    CHECK(list_code(liar([](FramedStream& to) { to.write(encode(entries_of(3))); })) == "session_unreachable");
    EntriesMessage bad = entries_of(1);
    bad.entries[0].path = "../../etc/passwd";
    CHECK(list_code(liar([&](FramedStream& to) { to.write(encode(bad)); })) == "protocol_error");
}

TEST_CASE("a list is no longer than so many entries need") {
    const auto long_links = liar([](FramedStream& to) {
        EntriesMessage one = entries_of(1);
        one.entries[0].link = std::string(k_tree_max_link, 'l');
        try {
            for (int i = 0; i < 300; ++i) to.write(encode(one));
            one.is_last = true;
            to.write(encode(one));
        } catch (const Error&) {
            // It has hung up.
        }
    });
    {
        Peer peer(long_links);
        const auto [code, message] = error_of([&] { channel::list_files(peer.link(), {.path = ".", .max_entries = 500}); });
        CHECK(code == ErrorCode::protocol_error);
        CHECK(message.find("too long") != std::string::npos);
    }
    Peer peer(long_links);
    CHECK(channel::list_files(peer.link(), {.path = ".", .max_entries = 2000}).entries.size() == 301);
}

TEST_CASE("an agent of an older sandbox is told for what it is") {
    Peer peer([](FramedStream&) {});
    peer.version = k_live_version - 1;
    const auto [code, message] = error_of([&] { channel::list_files(peer.link(), {}); });
    CHECK(code == ErrorCode::failed);
    CHECK(message.find("older sandbox") != std::string::npos);
}
