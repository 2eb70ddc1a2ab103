// SPDX-License-Identifier: Apache-2.0
#include "domain/units.hpp"

#include "expect_error.hpp"

#include <doctest/doctest.h>

using namespace sandbox::domain;
using namespace sandbox::tests;
using std::chrono::milliseconds;

TEST_CASE("sizes are read in both systems, docker's letters included") {
    CHECK(parse_size("0") == 0);
    CHECK(parse_size("12") == 12);
    CHECK(parse_size("12B") == 12);
    CHECK(parse_size("64KB") == 64'000);
    CHECK(parse_size("64kb") == 64'000);
    CHECK(parse_size("64 KB") == 64'000);
    CHECK(parse_size("1GiB") == 1ULL << 30);
    CHECK(parse_size("2TiB") == 2ULL << 40);
    CHECK(parse_size("512m") == 512ULL << 20);
    CHECK(parse_size("1g") == 1ULL << 30);
    CHECK(parse_size("1.5GB") == 1'500'000'000);
    CHECK(parse_size("0.5KiB") == 512);
    CHECK(parse_size("512Mi") == 512ULL << 20);
    CHECK(parse_size("9223372036854775807") == 9'223'372'036'854'775'807ULL);
}

TEST_CASE("what is no size is refused with what is one") {
    for (const char* text : {"", "KB", "-1", "+1", "1.5", "1.5B", "1.KB", ".5KB", "1e3", "0x10", "12XB", "1  KB", " 1",
                             "1KB ", "1 2", "NaN", "9223372036854775808", "99999999TB", "1.1234567GB", "1,5GB"}) {
        CAPTURE(text);
        const auto error = error_of([&] { parse_size(text); });
        CHECK(error.code() == sandbox::ErrorCode::usage);
        CHECK(contains(error.hint(), "64KB"));
    }
}

TEST_CASE("durations take units in falling order") {
    CHECK(parse_duration("0") == milliseconds(0));
    CHECK(parse_duration("0s") == milliseconds(0));
    CHECK(parse_duration("250ms") == milliseconds(250));
    CHECK(parse_duration("30s") == milliseconds(30'000));
    CHECK(parse_duration("1h30m") == milliseconds(5'400'000));
    CHECK(parse_duration("2d") == milliseconds(172'800'000));
    CHECK(parse_duration("0.5s") == milliseconds(500));
    CHECK(parse_duration("1m1.25s") == milliseconds(61'250));
    CHECK(parse_duration("90m") == milliseconds(5'400'000));
}

TEST_CASE("what is no duration is refused") {
    for (const char* text : {"", "s", "-5s", "1m1h", "1m1m", "1.5h30m", "1x", "5S", "5 s", "1h ", "nan", "inf", "1e3s",
                             "0.0001s", "1.5ms", "36501d", "99999999999999999999s", "1s5", "30min"}) {
        CAPTURE(text);
        CHECK(error_of([&] { parse_duration(text); }).code() == sandbox::ErrorCode::usage);
    }
}

TEST_CASE("a bare number is asked for its unit") {
    CHECK(contains(error_of([] { parse_duration("30"); }).hint(), "\"30s\""));
}

TEST_CASE("modes are octal text and nothing else") {
    CHECK(parse_mode("644") == 0644);
    CHECK(parse_mode("0644") == 0644);
    CHECK(parse_mode("0o644") == 0644);
    CHECK(parse_mode("07777") == 07777);
    CHECK(parse_mode("0") == 0);
    CHECK(parse_mode("420") == 0420);
    for (const char* text : {"", "0o", "0x1a4", "0888", "888", "-1", "10000", "6 4", "u+x", "0644 ", "777777777777777777"}) {
        CAPTURE(text);
        CHECK(error_of([&] { parse_mode(text); }).code() == sandbox::ErrorCode::usage);
    }
}

TEST_CASE("sizes are written in the shortest exact form, and read back") {
    CHECK(format_size(0) == "0");
    CHECK(format_size(64'000) == "64KB");
    CHECK(format_size(1ULL << 30) == "1GiB");
    CHECK(format_size(512'000'000) == "512MB");
    CHECK(format_size(1500) == "1500B");
    for (const std::uint64_t bytes : {0ULL, 1ULL, 999ULL, 1000ULL, 1024ULL, 65'536ULL, 1'024'000ULL, 1ULL << 40,
                                      123'456'789'012ULL, 9'223'372'036'854'775'807ULL}) {
        CHECK(parse_size(format_size(bytes)) == bytes);
    }
}

TEST_CASE("durations are written exactly, and read back") {
    CHECK(format_duration_exact(milliseconds(0)) == "0");
    CHECK(format_duration_exact(milliseconds(5'400'000)) == "1h30m");
    CHECK(format_duration_exact(milliseconds(250)) == "250ms");
    CHECK(format_duration_exact(milliseconds(90'061'001)) == "1d1h1m1s1ms");
    for (const std::int64_t ms : {1LL, 999LL, 1000LL, 60'001LL, 86'400'000LL, 31'536'000'000LL}) {
        CHECK(parse_duration(format_duration_exact(milliseconds(ms))) == milliseconds(ms));
    }
}
