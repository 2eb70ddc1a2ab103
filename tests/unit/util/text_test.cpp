// SPDX-License-Identifier: Apache-2.0
#include "util/shell.hpp"
#include "util/text.hpp"

#include <array>
#include <doctest/doctest.h>

using namespace sandbox;

TEST_CASE("base64: RFC 4648's examples, both ways, and nothing else") {
    const std::array<std::pair<std::string_view, std::string_view>, 7> examples{{
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}}};
    for (const auto& [plain, encoded] : examples) {
        CHECK(base64_encode(plain) == encoded);
        CHECK(base64_decode(encoded) == plain);
    }
    CHECK(base64_decode("Zm9v\n YmFy\n") == "foobar");
    for (const std::string_view bad : {"Zg", "Zg=", "Zg===", "Z===", "Zm9v=", "Zg==Zg==", "Z!==", "===="}) CHECK_FALSE(base64_decode(bad));
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    CHECK(base64_decode(base64_encode(all)) == all);
}

TEST_CASE("UTF-8: overlong forms, surrogates and cut sequences are not") {
    CHECK(is_valid_utf8("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
    for (const std::string_view bad : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8", "\xc3", "\xe2\x82"}) {
        CHECK_FALSE(is_valid_utf8(bad));
        CHECK(is_valid_utf8(to_valid_utf8(bad)));
    }
    CHECK(to_valid_utf8("a\xc3z") == "a\xef\xbf\xbdz");
}

TEST_CASE("what is shown on a terminal cannot control it") {
    CHECK(printable("a\n\t\r\x1b[31m\x7f") == "a\\n\\t\\r\\x1b[31m\\x7f");
    CHECK(printable("\xc2\x9b" "2J") == "\\x9b2J");
    CHECK(printable("\xc3\xa9") == "\xc3\xa9");
    CHECK(printable("\xff") == "\xef\xbf\xbd");
}

TEST_CASE("spelling help names the near and keeps quiet about the far") {
    const std::array<std::string, 3> verbs{"create", "destroy", "exec"};
    CHECK(nearest("craete", verbs) == "create");
    CHECK(nearest("exce", verbs) == "exec");
    CHECK(nearest("exe", verbs) == "exec");
    CHECK_FALSE(nearest("banana", verbs));
    CHECK_FALSE(nearest("x", {}));
}

TEST_CASE("split and join are each other's inverse") {
    for (const std::string_view text : {"", "a", "a:b", ":a::b:"}) CHECK(join(split(text, ':'), ":") == text);
    CHECK(split("a:", ':').size() == 2);
    CHECK(to_hex(std::string_view("\x00\xff", 2)) == "00ff");
}

TEST_CASE("a word for a shell stays one word") {
    CHECK(shell_quoted("/srv/a-b_c.1:2@3=4,5%") == "/srv/a-b_c.1:2@3=4,5%");
    CHECK(shell_quoted("") == "''");
    CHECK(shell_quoted("a b") == "'a b'");
    CHECK(shell_quoted("it's") == R"('it'\''s')");
    CHECK(shell_quoted("$(x)`y`\"\\*~") == "'$(x)`y`\"\\*~'");
}
