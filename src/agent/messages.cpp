// SPDX-License-Identifier: Apache-2.0
#include "agent/messages.hpp"

namespace sandbox::agent {
namespace {

std::uint8_t as_byte(bool value) { return value ? 1 : 0; }

std::string u64_bytes(std::uint64_t value) {
    std::string bytes;
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(value >> shift & 255);
    return bytes;
}

} // namespace

std::string encode(const HelloMessage& message) {
    Writer writer(FrameType::hello);
    writer.u32(message.version).text(message.nonce).text(message.agent_version).u32(message.uid).u32(message.gid);
    writer.u8(as_byte(message.workspace_writable)).u8(as_byte(message.home_writable)).text(message.home);
    return writer.finish();
}

HelloMessage decode_hello(std::string_view payload) {
    Reader reader(payload);
    HelloMessage message;
    message.version = reader.u32();
    message.nonce = reader.text();
    message.agent_version = reader.text();
    message.uid = reader.u32();
    message.gid = reader.u32();
    message.workspace_writable = reader.flag();
    message.home_writable = reader.flag();
    message.home = reader.text();
    // No expect_end(): a later version may add fields here, and its `version` says so.
    return message;
}

std::string encode(const SetupMessage& message, std::uint32_t version) {
    Writer writer(FrameType::setup);
    writer.text(message.workdir).i64(message.ttl_left_ms).i64(message.idle_timeout_ms).i64(message.grace_ms);
    writer.text(message.secret);
    if (version >= k_live_version) writer.u8(message.ends_with_creator ? 1 : 0);
    writer.u32(message.environment_count);
    return writer.finish();
}

SetupMessage decode_setup(std::string_view payload) {
    Reader reader(payload);
    SetupMessage message;
    message.workdir = reader.text();
    message.ttl_left_ms = reader.i64();
    message.idle_timeout_ms = reader.i64();
    message.grace_ms = reader.i64();
    message.secret = reader.text();
    message.ends_with_creator = reader.u8() != 0;
    message.environment_count = reader.u32();
    reader.expect_end();
    return message;
}

std::string encode(const OpenMessage& message) {
    Writer writer(FrameType::open);
    writer.u32(message.version).u8(static_cast<std::uint8_t>(message.operation)).text(message.proof);
    return writer.finish();
}

OpenMessage decode_open(std::string_view payload) {
    Reader reader(payload);
    OpenMessage message;
    message.version = reader.u32();
    const std::uint8_t operation = reader.u8();
    if (operation < static_cast<std::uint8_t>(Operation::exec) || operation > static_cast<std::uint8_t>(k_last_operation)) {
        throw WireError("unknown operation " + std::to_string(operation));
    }
    message.operation = static_cast<Operation>(operation);
    message.proof = reader.text();
    return message;
}

Sha256Digest open_proof(std::string_view secret, std::string_view nonce, Operation operation) {
    std::string message = "open ";
    message += static_cast<char>(operation);
    message += nonce;
    return hmac_sha256(secret, message);
}

std::string encode(const DeadlineMessage& message) {
    Writer writer(FrameType::deadline);
    writer.i64(message.ttl_boot_ms).i64(message.idle_timeout_ms).text(message.proof);
    return writer.finish();
}

DeadlineMessage decode_deadline(std::string_view payload) {
    Reader reader(payload);
    DeadlineMessage message;
    message.ttl_boot_ms = reader.i64();
    message.idle_timeout_ms = reader.i64();
    message.proof = reader.text();
    reader.expect_end();
    return message;
}

Sha256Digest deadline_proof(std::string_view secret, std::string_view nonce, const DeadlineMessage& message) {
    std::string text = "deadline ";
    text += u64_bytes(static_cast<std::uint64_t>(message.ttl_boot_ms));
    text += u64_bytes(static_cast<std::uint64_t>(message.idle_timeout_ms));
    text += nonce;
    return hmac_sha256(secret, text);
}

std::string encode(const ExecMessage& message) {
    Writer writer(FrameType::exec);
    writer.u8(as_byte(message.stdin_open)).u8(as_byte(message.tty)).u32(message.rows).u32(message.columns);
    writer.i64(message.timeout_ms).i64(message.grace_ms).u32(message.argument_count).u32(message.environment_count);
    writer.text(message.cwd).text(message.term);
    return writer.finish();
}

ExecMessage decode_exec(std::string_view payload) {
    Reader reader(payload);
    ExecMessage message;
    message.stdin_open = reader.flag();
    message.tty = reader.flag();
    message.rows = reader.u32();
    message.columns = reader.u32();
    message.timeout_ms = reader.i64();
    message.grace_ms = reader.i64();
    message.argument_count = reader.u32();
    message.environment_count = reader.u32();
    message.cwd = reader.text();
    message.term = reader.text();
    reader.expect_end();
    return message;
}

std::string encode_signal(std::uint32_t number) { return Writer(FrameType::signal).u32(number).finish(); }

std::uint32_t decode_signal(std::string_view payload) {
    Reader reader(payload);
    const std::uint32_t number = reader.u32();
    reader.expect_end();
    if (number == 0 || number > 64) throw WireError("no such signal");
    return number;
}

std::string encode_resize(std::uint32_t rows, std::uint32_t columns) {
    return Writer(FrameType::resize).u32(rows).u32(columns).finish();
}

std::pair<std::uint32_t, std::uint32_t> decode_resize(std::string_view payload) {
    Reader reader(payload);
    const std::uint32_t rows = reader.u32();
    const std::uint32_t columns = reader.u32();
    reader.expect_end();
    return {rows, columns};
}

std::string encode_credit(std::uint32_t bytes) { return Writer(FrameType::credit).u32(bytes).finish(); }

std::uint32_t decode_credit(std::string_view payload) {
    Reader reader(payload);
    const std::uint32_t bytes = reader.u32();
    reader.expect_end();
    return bytes;
}

std::string encode(const ResultMessage& message) {
    Writer writer(FrameType::result);
    writer.u8(static_cast<std::uint8_t>(message.outcome)).u32(static_cast<std::uint32_t>(message.exit_status));
    writer.u32(message.signal).u32(message.start_errno).text(message.step).i64(message.wall_ms);
    writer.i64(message.user_cpu_us).i64(message.system_cpu_us).i64(message.peak_rss_kib);
    writer.u64(message.stdout_bytes).u64(message.stderr_bytes).u32(message.left_running).u8(as_byte(message.oom));
    return writer.finish();
}

ResultMessage decode_result(std::string_view payload) {
    Reader reader(payload);
    ResultMessage message;
    const std::uint8_t outcome = reader.u8();
    if (outcome < 1 || outcome > static_cast<std::uint8_t>(ExecOutcome::detached)) throw WireError("unknown outcome");
    message.outcome = static_cast<ExecOutcome>(outcome);
    message.exit_status = static_cast<std::int32_t>(reader.u32());
    message.signal = reader.u32();
    message.start_errno = reader.u32();
    message.step = reader.text();
    message.wall_ms = reader.i64();
    message.user_cpu_us = reader.i64();
    message.system_cpu_us = reader.i64();
    message.peak_rss_kib = reader.i64();
    message.stdout_bytes = reader.u64();
    message.stderr_bytes = reader.u64();
    message.left_running = reader.u32();
    message.oom = reader.u8() != 0;
    // A missing or impossible exit status must never pass for a number that a caller acts on.
    const bool has_status = message.exit_status >= 0 && message.exit_status <= 255;
    if (message.outcome == ExecOutcome::exited && !has_status) throw WireError("exited without an exit status");
    if (message.outcome == ExecOutcome::signaled && (message.signal == 0 || message.signal > 64)) throw WireError("no such signal");
    if (message.outcome == ExecOutcome::start_failed && message.start_errno == 0) throw WireError("start failed without an error");
    return message;
}

std::string encode(const StatusMessage& message) {
    Writer writer(FrameType::status);
    writer.i64(message.boot_now_ms).i64(message.ttl_boot_ms).i64(message.idle_timeout_ms).i64(message.idle_left_ms);
    writer.u32(message.operations).u32(message.processes).u8(as_byte(message.workspace_writable));
    writer.u32(message.uid).u32(message.gid);
    return writer.finish();
}

StatusMessage decode_status(std::string_view payload) {
    Reader reader(payload);
    StatusMessage message;
    message.boot_now_ms = reader.i64();
    message.ttl_boot_ms = reader.i64();
    message.idle_timeout_ms = reader.i64();
    message.idle_left_ms = reader.i64();
    message.operations = reader.u32();
    message.processes = reader.u32();
    message.workspace_writable = reader.flag();
    message.uid = reader.u32();
    message.gid = reader.u32();
    return message;
}

std::string encode(const FailureMessage& message) {
    return Writer(FrameType::failure).text(message.code).text(message.text).finish();
}

FailureMessage decode_failure(std::string_view payload) {
    Reader reader(payload);
    FailureMessage message;
    message.code = reader.text();
    message.text = reader.text();
    return message;
}

void append_items(std::string& out, const std::vector<std::string>& items) {
    for (const auto& item : items) {
        out += frame_header(FrameType::item, item.size());
        out += item;
    }
    out += frame_header(FrameType::start, 0);
}

ItemCollector::ItemCollector(std::size_t count) : m_count(count) {
    if (count > k_max_items) throw WireError("too many items");
}

bool ItemCollector::take(const FrameView& frame) {
    if (frame.type == FrameType::start) {
        if (m_items.size() != m_count) throw WireError("items are missing");
        return true;
    }
    m_bytes += frame.payload.size();
    if (frame.type != FrameType::item || m_items.size() == m_count) throw WireError("an item was expected");
    if (m_bytes > k_max_item_bytes) throw WireError("the items are too long");
    // A NUL would silently cut the argument in execve(2).
    if (frame.payload.find('\0') != std::string_view::npos) throw WireError("an item holds a NUL");
    m_items.emplace_back(frame.payload);
    return false;
}

} // namespace sandbox::agent
