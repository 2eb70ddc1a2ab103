// SPDX-License-Identifier: Apache-2.0
#include "agent/wire.hpp"

#include "util/error.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

using namespace sandbox;
using namespace sandbox::agent;

namespace {

std::string bytes_of(FrameType type, std::string_view payload) { return frame_header(type, payload.size()) + std::string(payload); }

std::vector<Frame> decode(std::string_view bytes, std::size_t piece) {
    Decoder decoder;
    std::vector<Frame> frames;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
        decoder.feed(bytes.substr(0, piece));
        while (auto frame = decoder.next()) frames.push_back(std::move(*frame));
    }
    CHECK(decoder.is_between_frames());
    return frames;
}

} // namespace

TEST_CASE("frames come out as they went in, however the stream is cut") {
    const std::string big(k_max_frame - 1, 'x');
    // The last but one looks like a frame itself.
    const std::vector<std::string> payloads{"", "a", "1234567", "12345678", bytes_of(FrameType::result, "z"), big};
    std::string bytes;
    for (const std::string& payload : payloads) bytes += bytes_of(FrameType::stdout_data, payload);
    for (const std::size_t piece : {1UL, 3UL, 4UL, 5UL, 4096UL, 1UL << 20, bytes.size()}) {
        const std::vector<Frame> frames = decode(bytes, piece);
        REQUIRE(frames.size() == payloads.size());
        for (std::size_t i = 0; i < frames.size(); ++i) CHECK(frames[i].payload == payloads[i]);
    }
}

TEST_CASE("malformed lengths and types are refused at once, and nothing is kept for them") {
    const auto first_error = [](std::string_view bytes) {
        Decoder decoder;
        decoder.feed(bytes);
        CHECK_THROWS_AS(decoder.next(), WireError);
    };
    using namespace std::string_view_literals;
    first_error("\0\0\0\0"sv);
    first_error("\xff\xff\xff\xff"sv);
    first_error("\x01\0\x10\0"sv); // one past the maximum
    first_error("\x01\0\0\0\0"sv);
    first_error("\x01\0\0\0\xff"sv);
    Decoder small(k_max_open_frame);
    small.feed("\x01\x02\0\0"sv); // 513
    CHECK_THROWS_AS(small.next(), WireError);
    Decoder patient;
    patient.feed("\xff\xff\x0f\0\x09"sv);
    CHECK_FALSE(patient.next());
    CHECK_FALSE(patient.is_between_frames());
    CHECK(patient.space(100).size() <= 100);
}

TEST_CASE("fields cannot run past their frame") {
    Writer writer(FrameType::open);
    writer.u8(7).u32(0x01020304).u64(1ULL << 63).text("text");
    const std::string frame = writer.finish();
    Reader reader(std::string_view(frame).substr(5));
    CHECK(reader.u8() == 7);
    CHECK(reader.u32() == 0x01020304);
    CHECK(reader.u64() == 1ULL << 63);
    CHECK(reader.text() == "text");
    CHECK(reader.at_end());
    CHECK_THROWS_AS(reader.u8(), WireError);
    Reader lying(std::string_view("\xff\xff\xff\xff" "ab", 6));
    CHECK_THROWS_AS(lying.text(), WireError);
    CHECK_THROWS_AS(Writer(FrameType::item).raw(std::string(k_max_frame, 'x')).finish(), WireError);
}

TEST_CASE("a stream that ends inside a frame is cut, not ended") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    FramedStream reader(std::make_unique<SocketStream>(Fd(ends[0])), bytes_of(FrameType::start, ""));
    {
        FramedStream writer(std::make_unique<SocketStream>(Fd(ends[1])));
        writer.write(FrameType::stdout_data, "whole");
        writer.write(std::string_view("\x09\0\0\0\x09partial", 8));
    }
    CHECK(reader.read_frame()->type == FrameType::start);
    CHECK(reader.read_frame()->payload == "whole");
    CHECK_THROWS_AS(reader.read_frame(), CutStream);
}

TEST_CASE("wiping overwrites the frames that were taken and keeps what follows") {
    Decoder decoder;
    decoder.feed(bytes_of(FrameType::setup, "secret") + bytes_of(FrameType::start, ""));
    const auto frame = decoder.next_view();
    REQUIRE(frame);
    const char* where = frame->payload.data();
    decoder.wipe_taken();
    CHECK(std::string_view(where, 6) == std::string_view("\0\0\0\0\0\0", 6));
    CHECK(decoder.next()->type == FrameType::start);
}
