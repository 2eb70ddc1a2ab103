// SPDX-License-Identifier: Apache-2.0
#include "engine/attached_stream.hpp"
#include "engine/demultiplexer.hpp"
#include "engine/json_stream.hpp"

#include "throws.hpp"

#include <csignal>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

using namespace sandbox;
using namespace sandbox::engine;

namespace {

std::string frame(char stream, std::string_view payload) {
    std::string bytes{stream, 0, 0, 0};
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(payload.size() >> shift & 255);
    return bytes + std::string(payload);
}

struct SocketPair {
    Fd near;
    Fd far;
    SocketPair() {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        near.reset(ends[0]);
        far.reset(ends[1]);
        set_nonblocking(near.get(), true);
    }
};

std::string read_to_end(Stream& stream) {
    std::string content;
    char bytes[1000];
    while (const std::size_t count = stream.read(bytes)) content.append(bytes, count);
    return content;
}

// write_all() to a socket whose other side closed raises it.
const auto k_sigpipe_ignored = std::signal(SIGPIPE, SIG_IGN);

} // namespace

TEST_CASE("frames come apart the same however the stream is cut") {
    const std::string lookalike("\001\000\000\000\000\000\000\005hello", 13);
    const std::string big(70000, 'b');
    std::string stream;
    std::string expected;
    for (const auto& payload : {std::string(), std::string("x"), std::string("1234567"), std::string("12345678"), lookalike, big}) {
        stream += frame(1, payload) + frame(2, "to stderr");
        expected += payload;
    }
    for (const std::size_t piece : {1, 2, 3, 4, 7, 8, 9, 1000, 1 << 20}) {
        CAPTURE(piece);
        Demultiplexer demultiplexer;
        std::string out;
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            demultiplexer.feed(std::string_view(stream).substr(at, piece), out);
        }
        demultiplexer.finish();
        CHECK(out == expected);
        CHECK(demultiplexer.stderr_tail().ends_with("to stderr"));
    }
}

TEST_CASE("an unknown stream and a cut frame are protocol errors, the engine's own message an engine error") {
    std::string out;
    CHECK(error_of([&] { Demultiplexer().feed(frame(4, "x"), out); }).code() == ErrorCode::protocol_error);
    CHECK(error_of([&] { Demultiplexer().feed("plain text, no frames", out); }).code() == ErrorCode::protocol_error);
    CHECK(error_of([&] { Demultiplexer().feed(std::string("\001\000\001\000\000\000\000\001x", 9), out); }).code() ==
          ErrorCode::protocol_error);
    const Error told = error_of([&] { Demultiplexer().feed(frame(3, "out of \x1bpaper"), out); });
    CHECK(told.code() == ErrorCode::engine_error);
    CHECK(mentions(told.message(), "out of \\x1bpaper"));
    for (const std::size_t size : {1, 7, 8, 9, 12}) {
        CAPTURE(size);
        Demultiplexer demultiplexer;
        demultiplexer.feed(std::string_view(frame(1, "hello")).substr(0, size), out);
        CHECK(error_of([&] { demultiplexer.finish(); }).code() == ErrorCode::protocol_error);
    }
}

TEST_CASE("a stated length of 4 GiB allocates nothing, and standard error is kept in bounds") {
    Demultiplexer demultiplexer;
    std::string out;
    demultiplexer.feed(std::string("\001\000\000\000\377\377\377\377abc", 11), out);
    CHECK(out == "abc");
    CHECK(out.capacity() < 4096);
    Demultiplexer noisy;
    for (int i = 0; i < 100; ++i) noisy.feed(frame(2, std::string(1000, 'e')), out);
    noisy.feed(frame(2, std::string(100000, 'f')), out);
    CHECK(noisy.stderr_tail() == std::string(4096, 'f'));
}

TEST_CASE("an attached stream gives the bytes that came with the header first") {
    SocketPair pair;
    AttachedStream stream(std::make_unique<PlainSocket>(std::move(pair.near)), frame(1, "with the header, ").substr(0, 12), AttachedStream::Framing::frames);
    CHECK(stream.buffered());
    write_all(pair.far.get(), frame(1, "with the header, ").substr(12) + frame(2, "oops") + frame(1, "and after"));
    pair.far.reset();
    CHECK(read_to_end(stream) == "with the header, and after");
    CHECK(stream.stderr_tail() == "oops");
}

TEST_CASE("an attached stream is raw with a terminal, and cut only where frames are") {
    SocketPair raw;
    AttachedStream terminal(std::make_unique<PlainSocket>(std::move(raw.near)), "$ ", AttachedStream::Framing::raw);
    write_all(raw.far.get(), std::string("\001\000\000\000", 4));
    raw.far.reset();
    CHECK(read_to_end(terminal) == std::string("$ \001\000\000\000", 6));

    SocketPair cut;
    AttachedStream framed(std::make_unique<PlainSocket>(std::move(cut.near)), "", AttachedStream::Framing::frames);
    write_all(cut.far.get(), frame(1, "hello").substr(0, 10));
    cut.far.reset();
    CHECK(error_of([&] { read_to_end(framed); }).code() == ErrorCode::protocol_error);
}

TEST_CASE("half-close lets the answer through, and may be done twice") {
    SocketPair pair;
    AttachedStream stream(std::make_unique<PlainSocket>(std::move(pair.near)), "", AttachedStream::Framing::frames);
    stream.write("abc");
    stream.shutdown_write();
    stream.shutdown_write();
    CHECK(read_all(pair.far.get(), 100) == "abc");
    write_all(pair.far.get(), frame(1, "3\n"));
    pair.far.reset();
    CHECK(read_to_end(stream) == "3\n");
}

TEST_CASE("writing takes output in, so that two full pipes are no deadlock") {
    SocketPair pair;
    AttachedStream stream(std::make_unique<PlainSocket>(std::move(pair.near)), "", AttachedStream::Framing::frames);
    const std::string input(2 << 20, 'i');
    std::thread other([&] {
        // Talks before it listens: would block for ever against a writer that does not read.
        write_all(pair.far.get(), frame(1, std::string(1 << 20, 'o')));
        std::vector<char> bytes(1 << 16);
        std::size_t left = input.size();
        while (left > 0) left -= read_some(pair.far.get(), bytes);
        pair.far.reset();
    });
    stream.write(input);
    other.join();
    CHECK(read_to_end(stream).size() == 1 << 20);
}

TEST_CASE("law 6: an exec that floods and never reads is an error, neither a hang nor all of our memory") {
    SocketPair pair;
    AttachedStream stream(std::make_unique<PlainSocket>(std::move(pair.near)), "", AttachedStream::Framing::raw);
    std::thread other([&] {
        const std::string flood(1 << 20, 'o');
        try {
            for (int i = 0; i < 64; ++i) write_all(pair.far.get(), flood);
        } catch (const Error&) {
            // The near end closed: what this test is for.
        }
    });
    CHECK(error_of([&] { stream.write(std::string(4 << 20, 'i')); }).code() == ErrorCode::protocol_error);
    ::shutdown(stream.poll_fd(), SHUT_RDWR);
    other.join();
}

TEST_CASE("writing to an exec that is gone is an error and no signal") {
    SocketPair pair;
    AttachedStream stream(std::make_unique<PlainSocket>(std::move(pair.near)), "", AttachedStream::Framing::frames);
    pair.far.reset();
    CHECK(error_of([&] { stream.write("x"); }).code() == ErrorCode::engine_unreachable);
}

TEST_CASE("progress objects are found however the stream is cut") {
    const std::string text = "{\"status\":\"a }{ \\\" b\"}\r\n{\"progressDetail\":{\"x\":[1,{}]}}  {\"id\":\"c\"}\n";
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        CAPTURE(piece);
        std::vector<std::string> objects;
        JsonStream stream;
        for (std::size_t at = 0; at < text.size(); at += piece) {
            stream.feed(std::string_view(text).substr(at, piece), [&](std::string_view object) { objects.emplace_back(object); });
        }
        stream.finish();
        CHECK(objects.size() == 3);
        CHECK(objects.back() == "{\"id\":\"c\"}");
    }
}

TEST_CASE("a progress stream that is cut, endless or no JSON is a protocol error") {
    const auto ignore = [](std::string_view) {};
    JsonStream cut;
    cut.feed("{\"status\":\"Down", ignore);
    CHECK(error_of([&] { cut.finish(); }).code() == ErrorCode::protocol_error);
    CHECK(error_of([&] { JsonStream().feed("<html>", ignore); }).code() == ErrorCode::protocol_error);
    CHECK(error_of([&] { JsonStream().feed("{\"" + std::string(2 << 20, 'x'), ignore); }).code() == ErrorCode::protocol_error);
}
