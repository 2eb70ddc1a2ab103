// SPDX-License-Identifier: Apache-2.0
#include "agent/managed_messages.hpp"

#include <algorithm>

namespace sandbox::agent {
namespace {

constexpr std::size_t k_max_id_digits = 9;
constexpr std::size_t k_max_told_words = k_max_told_command; // an empty word counts as one byte

std::string bounded(Reader& reader, std::size_t most) {
    const std::string_view text = reader.text();
    if (text.size() > most) throw WireError("a text is too long");
    return std::string(text);
}

// A process is named by whoever asks, so a name that nothing can have is no error of the protocol.
std::string whom(Reader& reader) { return bounded(reader, 2 * k_max_process_name); }

template <typename Enum> Enum enum_field(Reader& reader, Enum last) {
    const std::uint8_t value = reader.u8();
    if (value < 1 || value > static_cast<std::uint8_t>(last)) throw WireError("unknown value");
    return static_cast<Enum>(value);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

} // namespace

bool is_process_id(std::string_view text) {
    return text.size() >= 2 && text.size() <= 1 + k_max_id_digits && text[0] == 'p' && std::all_of(text.begin() + 1, text.end(), is_digit);
}

bool is_process_name(std::string_view text) {
    const auto is_inner = [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_' || c == '.'; };
    if (text.empty() || text.size() > k_max_process_name || is_process_id(text)) return false;
    return text[0] != '-' && text[0] != '_' && text[0] != '.' && std::all_of(text.begin(), text.end(), is_inner);
}

void set_told_command(ManagedInfo& info, const std::vector<std::string>& arguments) {
    std::size_t left = k_max_told_command;
    info.command.clear();
    for (const std::string& argument : arguments) {
        if (left == 0) break;
        info.command.push_back(argument.substr(0, left));
        left -= std::clamp<std::size_t>(argument.size(), 1, left);
    }
    info.command_cut = info.command != arguments;
}

void append_info(Writer& writer, const ManagedInfo& info) {
    writer.text(info.id).text(info.name).u32(static_cast<std::uint32_t>(info.command.size()));
    for (const std::string& word : info.command) writer.text(word);
    writer.u8(info.command_cut).text(info.cwd).u8(static_cast<std::uint8_t>(info.state)).u32(info.pid);
    writer.u32(static_cast<std::uint32_t>(info.exit_status)).u32(info.signal).u8(info.oom).u8(info.expired);
    writer.i64(info.started_ms).i64(info.ended_ms).u32(info.restarts).u32(info.max_restarts).u32(info.left_running);
    writer.u8(info.keep_alive);
}

ManagedInfo info_field(Reader& reader) {
    ManagedInfo info;
    info.id = reader.text();
    info.name = reader.text();
    if (!info.id.empty() && !is_process_id(info.id)) throw WireError("bad process id");
    if (!info.name.empty() && !is_process_name(info.name)) throw WireError("bad process name");
    const std::uint32_t words = reader.u32();
    if (words > k_max_told_words) throw WireError("a command is too long");
    std::size_t bytes = 0;
    for (std::uint32_t i = 0; i < words; ++i) {
        info.command.push_back(bounded(reader, k_max_told_command));
        bytes += info.command.back().size();
    }
    if (bytes > k_max_told_command) throw WireError("a command is too long");
    info.command_cut = reader.flag();
    info.cwd = bounded(reader, k_max_told_cwd);
    info.state = enum_field(reader, ManagedState::aborted);
    info.pid = reader.u32();
    info.exit_status = static_cast<std::int32_t>(reader.u32());
    info.signal = reader.u32();
    if (info.exit_status < -1 || info.exit_status > 255 || info.signal > 64) throw WireError("no exit status");
    info.oom = reader.flag();
    info.expired = reader.flag();
    info.started_ms = reader.i64();
    info.ended_ms = reader.i64();
    info.restarts = reader.u32();
    info.max_restarts = reader.u32();
    info.left_running = reader.u32();
    info.keep_alive = reader.flag();
    return info;
}

std::string encode(const ManagedInfo& info) {
    Writer writer(FrameType::reply);
    append_info(writer, info);
    return writer.finish();
}

ManagedInfo decode_managed_info(std::string_view payload) {
    Reader reader(payload);
    ManagedInfo info = info_field(reader);
    reader.expect_end();
    return info;
}

std::string encode(const ManagedStart& message) {
    Writer writer(FrameType::request);
    writer.text(message.name).text(message.cwd).u8(message.keep_alive).i64(message.grace_ms).u32(message.max_restarts);
    writer.u32(message.ready_port).text(message.ready_log).i64(message.ready_timeout_ms).u64(message.log_limit);
    writer.u32(message.max_processes).u32(message.argument_count).u32(message.environment_count);
    return writer.finish();
}

ManagedStart decode_managed_start(std::string_view payload) {
    Reader reader(payload);
    ManagedStart message;
    message.name = reader.text();
    if (!message.name.empty() && !is_process_name(message.name)) throw WireError("bad process name");
    message.cwd = reader.text();
    if (message.cwd.find('\0') != std::string::npos) throw WireError("bad path");
    message.keep_alive = reader.flag();
    message.grace_ms = reader.i64();
    message.max_restarts = reader.u32();
    message.ready_port = reader.u32();
    if (message.ready_port > 65535) throw WireError("no port");
    message.ready_log = bounded(reader, k_max_ready_log);
    message.ready_timeout_ms = reader.i64();
    message.log_limit = reader.u64();
    message.max_processes = reader.u32();
    message.argument_count = reader.u32();
    message.environment_count = reader.u32();
    reader.expect_end();
    return message;
}

std::string encode(const ReadyMessage& message) {
    Writer writer(FrameType::reply);
    writer.u8(static_cast<std::uint8_t>(message.outcome)).u8(message.port_seen).u8(message.log_seen);
    append_info(writer, message.info);
    return writer.finish();
}

ReadyMessage decode_ready(std::string_view payload) {
    Reader reader(payload);
    ReadyMessage message;
    message.outcome = enum_field(reader, ReadyOutcome::timed_out);
    message.port_seen = reader.flag();
    message.log_seen = reader.flag();
    message.info = info_field(reader);
    reader.expect_end();
    return message;
}

void append_query(Writer& writer, const ManagedQuery& query) {
    writer.text(query.process).u64(query.after).i64(query.since_ms).u32(query.tail).i64(query.grace_ms);
}

ManagedQuery query_field(Reader& reader) {
    ManagedQuery query;
    query.process = whom(reader);
    query.after = reader.u64();
    query.since_ms = reader.i64();
    query.tail = reader.u32();
    query.grace_ms = reader.i64();
    return query;
}

std::string encode(const ManagedQuery& query) {
    Writer writer(FrameType::request);
    append_query(writer, query);
    return writer.finish();
}

ManagedQuery decode_managed_query(std::string_view payload) {
    Reader reader(payload);
    ManagedQuery query = query_field(reader);
    reader.expect_end();
    return query;
}

std::string encode(const LogFrame& frame) {
    Writer writer(FrameType::data);
    writer.u8(static_cast<std::uint8_t>(frame.stream)).u64(frame.offset).i64(frame.time_ms);
    if (frame.stream == LogStream::gap) writer.u64(frame.dropped);
    else writer.raw(frame.bytes);
    return writer.finish();
}

LogFrame decode_log_frame(std::string_view payload) {
    Reader reader(payload);
    LogFrame frame;
    const std::uint8_t stream = reader.u8();
    if (stream > static_cast<std::uint8_t>(LogStream::err)) throw WireError("unknown stream");
    frame.stream = static_cast<LogStream>(stream);
    frame.offset = reader.u64();
    frame.time_ms = reader.i64();
    if (frame.stream == LogStream::gap) frame.dropped = reader.u64();
    else frame.bytes = reader.rest();
    reader.expect_end();
    return frame;
}

std::string encode(const LogEnd& end) {
    Writer writer(FrameType::done);
    writer.u64(end.next);
    append_info(writer, end.info);
    return writer.finish();
}

LogEnd decode_log_end(std::string_view payload) {
    Reader reader(payload);
    LogEnd end;
    end.next = reader.u64();
    end.info = info_field(reader);
    reader.expect_end();
    return end;
}

} // namespace sandbox::agent
