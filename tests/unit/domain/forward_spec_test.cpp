// SPDX-License-Identifier: Apache-2.0
#include "domain/forward_spec.hpp"
#include "util/error.hpp"

#include <doctest/doctest.h>

using namespace sandbox;
using namespace sandbox::domain;

TEST_CASE("how ports are written") {
    struct Row {
        const char* text;
        const char* address;
        int host_port;
        int port;
    };
    for (const Row& row : {Row{"5173", "127.0.0.1", 5173, 5173}, Row{"8080:80", "127.0.0.1", 8080, 80}, Row{":80", "127.0.0.1", 0, 80},
                           Row{"0:80", "127.0.0.1", 0, 80}, Row{"127.0.0.2:8080:80", "127.0.0.2", 8080, 80}, Row{"0.0.0.0::80", "0.0.0.0", 0, 80},
                           Row{"localhost:1:65535", "127.0.0.1", 1, 65535}, Row{"[::1]:8080:80", "::1", 8080, 80}, Row{"[::1]:0:80", "::1", 0, 80}}) {
        CAPTURE(row.text);
        const ForwardSpec spec = parse_forward(row.text);
        CHECK(spec.address == row.address);
        CHECK(spec.host_port == row.host_port);
        CHECK(spec.port == row.port);
    }
}

TEST_CASE("what is no port") {
    for (const char* text : {"", "0", ":", "x", "80:", "80:0", "65536", "080", "+80", " 80", "80 ", "1:2:3", "1:2:3:4", "127.0.0.1:80", "256.0.0.1:1:2", "[::1]:80",
                             "[::1:1:2", "[127.0.0.1]:1:2", "[]:1:2", "[::1]:[::1]:1:2", "::1:80:80", "host:1:2", "1\n:2"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_forward(text), Error);
    }
}

TEST_CASE("where to listen") {
    CHECK(parse_listen("8080").host_port == 8080);
    CHECK(parse_listen("8080").address == "127.0.0.1");
    CHECK(parse_listen("0").host_port == 0);
    CHECK(parse_listen("0.0.0.0:8080").address == "0.0.0.0");
    CHECK(parse_listen("[::1]:0").address == "::1");
    for (const char* text : {"x", "host:80", "1:2:3", "65536", "[::1]", "[::1]80"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_listen(text), Error);
    }
    CHECK(address_and_port("::1", 80) == "[::1]:80");
    CHECK(address_and_port("127.0.0.1", 80) == "127.0.0.1:80");
}
