// SPDX-License-Identifier: Apache-2.0
#include "util/sha256.hpp"

#include "util/text.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace sandbox;

TEST_CASE("SHA-256: the examples of FIPS 180-4, and every fill of the last block") {
    CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(sha256_hex(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    for (std::size_t size = 0; size < 200; ++size) {
        const std::string bytes(size, 'x');
        Sha256 in_pieces;
        for (const char byte : bytes) in_pieces.update({&byte, 1});
        CHECK(in_pieces.finish() == sha256(bytes));
    }
}

TEST_CASE("HMAC-SHA256: the test cases of RFC 4231") {
    const auto hex = [](std::string_view key, std::string_view message) { return to_hex(as_view(hmac_sha256(key, message))); };
    CHECK(hex(std::string(20, '\x0b'), "Hi There") == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    CHECK(hex("Jefe", "what do ya want for nothing?") == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    CHECK(hex(std::string(20, '\xaa'), std::string(50, '\xdd')) == "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    CHECK(hex(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("comparing takes length into account") {
    CHECK(equal_in_constant_time("abc", "abc"));
    CHECK_FALSE(equal_in_constant_time("abc", "abd"));
    CHECK_FALSE(equal_in_constant_time("abc", "ab"));
    CHECK(equal_in_constant_time("", ""));
}
