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

TEST_CASE("what is wrong with a port is said as it was written") {
    const auto told = [](auto body) {
        try {
            body();
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::usage);
            return error.message() + "; " + error.hint();
        }
        return std::string("done");
    };
    CHECK(told([] { parse_forward("8000:"); }) == "\"8000:\" does not say which port of the session; PORT for the same port here and there, or 8000:PORT");
    CHECK(told([] { parse_forward("::1:80:80"); }).find("without brackets") != std::string::npos);
    CHECK(told([] { parse_listen("::1:80"); }).find("without brackets; PORT, or ADDRESS:PORT") != std::string::npos);
    CHECK(told([] { parse_listen("host:80"); }).find("HOST_PORT") == std::string::npos);
    CHECK(told([] { check_distinct({parse_forward("80"), parse_forward("81:80"), parse_forward(":1"), parse_forward(":1"), parse_forward("127.0.0.2:80:80")}); }) == "done");
    CHECK(told([] { check_distinct({parse_forward("80"), parse_forward("90:1"), parse_forward("80:2")}); }).find("127.0.0.1:80") != std::string::npos);
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
