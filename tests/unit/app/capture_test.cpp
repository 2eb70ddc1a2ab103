// SPDX-License-Identifier: Apache-2.0
#include "app/capture.hpp"

#include "util/text.hpp"

#include <doctest/doctest.h>

using sandbox::app::Capture;

TEST_CASE("output within the limit is kept as it is") {
    Capture capture(10);
    capture.add("hello");
    capture.add("world");
    const auto text = capture.text();
    CHECK(text.text == "helloworld");
    CHECK(text.bytes == 10);
    CHECK(text.dropped == 0);
    CHECK_FALSE(text.truncated());
}

TEST_CASE("head and tail are kept, the middle is counted and marked") {
    Capture capture(10);
    for (int i = 0; i < 100; ++i) capture.add(std::to_string(i % 10));
    const auto text = capture.text();
    CHECK(text.text == "01234\n[... 90 bytes left out ...]\n56789");
    CHECK(text.bytes == 100);
    CHECK(text.dropped == 90);
}

TEST_CASE("the tail is right for every size of piece") {
    std::string all;
    for (int i = 0; i < 1000; ++i) all += static_cast<char>('a' + i % 26);
    for (std::size_t piece = 1; piece < 80; ++piece) {
        Capture capture(64);
        for (std::size_t at = 0; at < all.size(); at += piece) capture.add(std::string_view(all).substr(at, piece));
        const auto text = capture.text();
        CHECK(text.text.substr(0, 32) == all.substr(0, 32));
        CHECK(text.text.substr(text.text.size() - 32) == all.substr(all.size() - 32));
    }
}

TEST_CASE("a limit of zero keeps nothing and counts everything") {
    Capture capture(0);
    capture.add("abc");
    CHECK(capture.text().bytes == 3);
    CHECK(capture.text().dropped == 3);
}

TEST_CASE("a character cut at the border of two pieces is whole again") {
    Capture capture(100);
    capture.add(std::string(9, 'a') + "\303");
    capture.add("\251");
    CHECK(capture.text().text == std::string(9, 'a') + "\303\251");
    CHECK_FALSE(capture.text().is_base64);
}

TEST_CASE("a character cut by the limit makes no binary of a text") {
    Capture capture(9);
    for (int i = 0; i < 50; ++i) capture.add("\303\251");
    const auto text = capture.text();
    CHECK_FALSE(text.is_base64);
    CHECK(sandbox::is_valid_utf8(text.text));
    CHECK(text.bytes == 100);
    CHECK(text.dropped == 100 - 4 - 4);
}

TEST_CASE("bytes that are no text come as base64") {
    Capture capture(100);
    capture.add("\376\303");
    const auto text = capture.text();
    CHECK(text.is_base64);
    CHECK(text.text == "/sM=");
}
