// SPDX-License-Identifier: Apache-2.0
#include "util/time.hpp"

#include <doctest/doctest.h>

using namespace sandbox;

TEST_CASE("durations for people have two units at most") {
    CHECK(format_duration(Milliseconds(-5)) == "0s");
    CHECK(format_duration(Milliseconds(0)) == "0ms");
    CHECK(format_duration(Milliseconds(450)) == "450ms");
    CHECK(format_duration(Milliseconds(1500)) == "1.5s");
    CHECK(format_duration(Milliseconds(2099)) == "2s");
    CHECK(format_duration(Milliseconds(12'999)) == "12s");
    CHECK(format_duration(Milliseconds(200'000)) == "3m 20s");
    CHECK(format_duration(Milliseconds(7'500'000)) == "2h 5m");
    CHECK(format_duration(Milliseconds(3'601'000)) == "1h");
    CHECK(format_duration(Milliseconds(9LL * 86'400'000)) == "9d");
}

TEST_CASE("wall time is written as RFC 3339 in UTC") {
    CHECK(format_rfc3339(0) == "1970-01-01T00:00:00Z");
    CHECK(format_rfc3339(1'795'976'400'999) == "2026-11-29T18:20:00Z");
}

TEST_CASE("the boot clock goes on and the boot has an id") {
    const auto before = boot_now_ms();
    CHECK(boot_now_ms() >= before);
    CHECK(boot_id().size() == 36);
    CHECK(wall_now_ms() > 1'700'000'000'000);
}
