// SPDX-License-Identifier: Apache-2.0
#include "domain/names.hpp"

#include "util/error.hpp"
#include "util/sha256.hpp"

#include <array>
#include <doctest/doctest.h>
#include <functional>
#include <set>
#include <string>

using namespace sandbox;
using namespace sandbox::domain;
using namespace std::string_literals;

namespace {

Error refusal_of(const std::function<void()>& check) {
    try {
        check();
    } catch (const Error& error) {
        return error;
    }
    return Error(ErrorCode::internal, "accepted");
}

} // namespace

TEST_CASE("names: one rule for sessions, workspaces and the rest") {
    for (const auto& name : {"a"s, "0"s, "job-981"s, "a.b_c-d"s, "9lives"s, std::string(63, 'a')}) {
        CAPTURE(name);
        CHECK(is_valid_name(name));
        CHECK_NOTHROW(check_name("session name", name));
    }
    for (const auto& name : {""s, "."s, ".."s, "../x"s, "a/b"s, "A"s, "aB"s, "-x"s, "_x"s, ".x"s, "a b"s, "a\nb"s, "\xc3\xa9"s, "a\0b"s,
                             "a:b"s, std::string(64, 'a'), std::string(1 << 20, 'a')}) {
        CAPTURE(name.substr(0, 80));
        CHECK_FALSE(is_valid_name(name));
        const Error error = refusal_of([&] { check_name("session name", name); });
        CHECK(error.code() == ErrorCode::usage);
        CHECK_FALSE(error.hint().empty());
    }
}

TEST_CASE("names: a refused value is shown safely and briefly") {
    const Error error = refusal_of([] { check_name("workspace id", "a\x1b[2J\n" + std::string(1 << 20, 'x')); });
    CHECK(error.message().find("workspace id") != std::string::npos);
    CHECK(error.message().find('\x1b') == std::string::npos);
    CHECK(error.message().find('\n') == std::string::npos);
    CHECK(error.message().size() < 300);
}

TEST_CASE("names: a session's name is not mistaken for an id") {
    CHECK_NOTHROW(check_session_name("s0123456789a"));    // eleven digits
    CHECK_NOTHROW(check_session_name("s0123456789abc"));  // thirteen
    CHECK_NOTHROW(check_session_name("s0123456789ag"));   // not hex
    CHECK(refusal_of([] { check_session_name("s0123456789ab"); }).code() == ErrorCode::usage);
    CHECK(refusal_of([] { check_session_name("A"); }).code() == ErrorCode::usage);
}

TEST_CASE("names: session ids are fresh, recognised and valid names") {
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) {
        const std::string id = new_session_id();
        REQUIRE(is_session_id(id));
        REQUIRE(is_valid_name(id));
        REQUIRE(seen.insert(id).second);
    }
    for (const auto& text : {""s, "s"s, "x0123456789ab"s, "S0123456789ab"s, "s0123456789AB"s, "s0123456789ab\n"s}) {
        CHECK_FALSE(is_session_id(text));
    }
}

TEST_CASE("names: owners are printable and without white space") {
    for (const auto& owner : {"uid:1000"s, "acme/ci"s, "A"s, "a@b.example"s, std::string(128, 'o')}) CHECK_NOTHROW(check_owner(owner));
    for (const auto& owner : {""s, " "s, "a b"s, "a\tb"s, "a\nb"s, "a\0b"s, "\x7f"s, "\xc3\xa9"s, "\x1b[m"s, std::string(129, 'o')}) {
        CHECK(refusal_of([&] { check_owner(owner); }).code() == ErrorCode::usage);
    }
}

TEST_CASE("names: label keys and values") {
    CHECK_NOTHROW(check_label("jobId", "981"));
    CHECK_NOTHROW(check_label("example.org/team_a-b", "caf\xc3\xa9, with spaces\nand lines"));
    CHECK_NOTHROW(check_label("empty", ""));
    CHECK_NOTHROW(check_label(std::string(128, 'k'), std::string(4096, 'v')));
    for (const auto& key : {""s, "a b"s, "a=b"s, "a\nb"s, "\xc3\xa9"s, "a\0"s, std::string(129, 'k')}) {
        CHECK(refusal_of([&] { check_label(key, "v"); }).code() == ErrorCode::usage);
    }
    for (const auto& value : {"\xff"s, "a\0b"s, "\xed\xa0\x80"s, std::string(4097, 'v')}) {
        CHECK(refusal_of([&] { check_label("k", value); }).code() == ErrorCode::usage);
    }
}

TEST_CASE("names: environment variables") {
    CHECK_NOTHROW(check_env_name("PATH"));
    CHECK_NOTHROW(check_env_name("npm_config.x-y"));
    for (const auto& name : {""s, "=x"s, "A=B"s, "A\0"s, "export A"s, "A\n"s}) {
        CHECK(refusal_of([&] { check_env_name(name); }).code() == ErrorCode::usage);
    }
}

TEST_CASE("names: a workspace's object name is one for each instance, owner and id") {
    const std::string name = workspace_object_name("00112233aabbccdd", "uid:0", "project-42");
    CHECK(name.starts_with("sandbox-ws-project-42-"));
    CHECK(name == workspace_object_name("00112233aabbccdd", "uid:0", "project-42"));
    CHECK(name != workspace_object_name("00112233aabbccde", "uid:0", "project-42"));
    CHECK(name != workspace_object_name("00112233aabbccdd", "uid:1", "project-42"));
    CHECK(name != workspace_object_name("00112233aabbccdd", "uid:0", "project-43"));
    // Parts that only differ in where one ends and the next begins.
    CHECK(workspace_object_name("i", "a", "bc").substr(13) != workspace_object_name("i", "ab", "c").substr(12));
    CHECK(workspace_object_name("i", "a1:b", "c") != workspace_object_name("i", "a", "1:bc"));
    // No session's container is called like it.
    CHECK_FALSE(name.starts_with(container_name("s")));
    CHECK(workspace_object_name("i", std::string(128, 'o'), std::string(63, 'w')).size() <= 128);
    CHECK(container_name("s0123456789ab") == "sandbox-s0123456789ab");
}

TEST_CASE("names: SHA-256 gives the published digests") {
    CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(sha256_hex(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("names: SHA-256 pads every length") {
    // The digest of the digests of 0 to 200 zero bytes, from coreutils' sha256sum.
    std::string all;
    for (std::size_t length = 0; length <= 200; ++length) all += sha256_hex(std::string(length, '\0'));
    CHECK(sha256_hex(all) == "f55e502cfd80fef78fe7206d99c6dff4fab60fd17201a0a656296ce47240e6f2");
}
