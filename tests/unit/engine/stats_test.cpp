// SPDX-License-Identifier: Apache-2.0
#include "engine/container_control.hpp"

#include "scripted_server.hpp"
#include "throws.hpp"

#include <doctest/doctest.h>

using namespace sandbox;
using namespace sandbox::engine;

TEST_CASE("stats: what docker says on cgroup v1") {
    const ContainerStats stats = parse_stats(R"({"read":"2026-11-30T13:00:01.5Z","pids_stats":{"current":3,"limit":64},
        "cpu_stats":{"cpu_usage":{"total_usage":12345678901}},
        "memory_stats":{"usage":5000,"limit":1073741824,"stats":{"total_inactive_file":1000,"inactive_file":7}},
        "networks":{"eth0":{"rx_bytes":10,"tx_bytes":20},"eth1":{"rx_bytes":1,"tx_bytes":2}},
        "blkio_stats":{"io_service_bytes_recursive":[{"op":"Read","value":4},{"op":"Write","value":8},{"op":"Total","value":12},{"op":"read","value":1}]}})");
    CHECK(stats.read_ms % 1000 == 500);
    CHECK(stats.cpu_ns == 12345678901);
    CHECK(stats.memory == 4000);
    CHECK(stats.memory_limit == 1 << 30);
    CHECK(stats.pids == 3);
    CHECK(stats.pids_limit == 64);
    CHECK(stats.network_in == 11);
    CHECK(stats.network_out == 22);
    CHECK(stats.block_read == 5);
    CHECK(stats.block_written == 8);
}

TEST_CASE("stats: cgroup v2, without a limit, a network or a count of blocks") {
    const ContainerStats stats = parse_stats(R"({"read":"2026-11-30T13:00:01Z","pids_stats":{"current":1,"limit":18446744073709551615},
        "memory_stats":{"usage":100,"stats":{"inactive_file":200}},"blkio_stats":{"io_service_bytes_recursive":null}})");
    CHECK(stats.memory == 100);
    CHECK(stats.memory_limit == 0);
    CHECK_FALSE(stats.pids_limit);
    CHECK_FALSE(stats.network_in);
    CHECK_FALSE(stats.block_read);
}

TEST_CASE("stats: a container that does not run, and answers that are none") {
    CHECK(parse_stats(R"({"read":"0001-01-01T00:00:00Z","cpu_stats":{"cpu_usage":{"total_usage":0}},"memory_stats":{},"pids_stats":{}})").read_ms == 0);
    const ContainerStats odd = parse_stats(R"({"read":7,"networks":[1],"cpu_stats":"x","memory_stats":{"usage":-5},"blkio_stats":{"io_service_bytes_recursive":[7,{"op":3}]}})");
    CHECK(odd.memory == 0);
    CHECK(odd.cpu_ns == 0);
    CHECK(error_of([] { parse_stats("{"); }).code() == ErrorCode::protocol_error);
}

TEST_CASE("the freezer's answers, and absence for a 404 about that very container alone") {
    const Answer done{.text = "HTTP/1.1 204 No Content\r\n\r\n"};
    ScriptedServer server({ping_answer(), done, json_answer(409, R"({"message":"Container abc is already paused"})"), json_answer(404, R"({"message":"No such container: abc"})"),
                           json_answer(404, R"({"message":"page not found"})")});
    ContainerControl control(server.endpoint());
    control.pause("abc");
    CHECK(error_of([&] { control.pause("abc"); }).code() == ErrorCode::conflict);
    CHECK_FALSE(control.stats("abc"));
    CHECK(error_of([&] { control.stats("abc"); }).code() == ErrorCode::engine_error);
    CHECK(server.requests().at(1).find("/containers/abc/pause") != std::string::npos);
}
