// SPDX-License-Identifier: Apache-2.0
#include "agent/messages.hpp"

#include <doctest/doctest.h>

using namespace sandbox;
using namespace sandbox::agent;

namespace {

std::string payload_of(const std::string& frame) { return frame.substr(5); }

} // namespace

TEST_CASE("messages survive the way") {
    HelloMessage hello;
    hello.nonce = std::string("\0n", 2);
    hello.home = "/tmp";
    hello.home_writable = true;
    CHECK(decode_hello(payload_of(encode(hello))).nonce == hello.nonce);
    CHECK(decode_hello(payload_of(encode(hello))).home_writable);
    ExecMessage exec;
    exec.tty = true;
    exec.timeout_ms = 1LL << 40;
    exec.argument_count = 3;
    exec.cwd = "sub dir";
    const ExecMessage exec_back = decode_exec(payload_of(encode(exec)));
    CHECK(exec_back.tty);
    CHECK_FALSE(exec_back.stdin_open);
    CHECK(exec_back.timeout_ms == 1LL << 40);
    CHECK(exec_back.cwd == "sub dir");
    StatusMessage status;
    status.idle_left_ms = -1;
    CHECK(decode_status(payload_of(encode(status))).idle_left_ms == -1);
    ResultMessage result;
    result.outcome = ExecOutcome::signaled;
    result.signal = 15;
    CHECK(decode_result(payload_of(encode(result))).exit_status == -1);
    CHECK(decode_open(payload_of(encode(OpenMessage{1, Operation::get_tree, "p"}))).operation == Operation::get_tree);
    CHECK(encode(OpenMessage{1, Operation::exec, std::string(32, 'p')}).size() < k_max_open_frame);
}

TEST_CASE("law 8: a result without an exit status is no result") {
    ResultMessage result;
    CHECK_THROWS_AS(decode_result(payload_of(encode(result))), WireError);
    result.exit_status = 256;
    CHECK_THROWS_AS(decode_result(payload_of(encode(result))), WireError);
    result.outcome = ExecOutcome::signaled;
    CHECK_THROWS_AS(decode_result(payload_of(encode(result))), WireError);
    result.outcome = ExecOutcome::start_failed;
    CHECK_THROWS_AS(decode_result(payload_of(encode(result))), WireError);
    std::string payload = payload_of(encode(result));
    payload[0] = 0;
    CHECK_THROWS_AS(decode_result(payload), WireError);
    CHECK_THROWS_AS(decode_result(""), WireError);
}

TEST_CASE("flags, signals and operations have no other values") {
    std::string payload = payload_of(encode(ExecMessage{}));
    payload[0] = 2;
    CHECK_THROWS_AS(decode_exec(payload), WireError);
    CHECK_THROWS_AS(decode_signal(payload_of(encode_signal(0))), WireError);
    CHECK_THROWS_AS(decode_signal(payload_of(encode_signal(65))), WireError);
    std::string open = payload_of(encode(OpenMessage{}));
    open[4] = 0;
    CHECK_THROWS_AS(decode_open(open), WireError);
}

TEST_CASE("items: all that were announced, no more, no NUL") {
    const FrameView item{FrameType::item, "x"};
    ItemCollector collector(2);
    CHECK_FALSE(collector.take(item));
    CHECK_THROWS_AS(collector.take({FrameType::start, ""}), WireError);
    CHECK_FALSE(collector.take(item));
    CHECK_THROWS_AS(collector.take(item), WireError);
    CHECK(collector.take({FrameType::start, ""}));
    ItemCollector with_nul(1);
    CHECK_THROWS_AS(with_nul.take({FrameType::item, std::string_view("a\0b", 3)}), WireError);
    CHECK_THROWS_AS(ItemCollector(k_max_items + 1), WireError);
}

TEST_CASE("a proof is good for one secret, nonce, purpose and value") {
    const auto proof = open_proof("secret", "nonce", Operation::exec);
    CHECK(proof == open_proof("secret", "nonce", Operation::exec));
    CHECK(proof != open_proof("secres", "nonce", Operation::exec));
    CHECK(proof != open_proof("secret", "nonca", Operation::exec));
    CHECK(proof != open_proof("secret", "nonce", Operation::status));
    CHECK(deadline_proof("secret", "nonce", {1, 2, {}}) != deadline_proof("secret", "nonce", {2, 1, {}}));
}
