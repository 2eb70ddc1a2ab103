// SPDX-License-Identifier: Apache-2.0
#include "agent/files_messages.hpp"

#include "agent/files_fields.hpp"

namespace sandbox::agent {
namespace {

// One component: what a container says may end up in a path of ours.
std::string name_field(Reader& reader) {
    const std::string_view name = reader.text();
    const bool is_name = !name.empty() && name != "." && name != ".." && name.size() <= k_max_name;
    if (!is_name || name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos) throw WireError("bad name");
    return std::string(name);
}

void append_limit(Writer& writer, std::optional<std::uint64_t> limit) {
    writer.u8(limit ? 1 : 0).u64(limit.value_or(0));
}

} // namespace

std::string encode(const PutMessage& message) {
    Writer writer(FrameType::put);
    writer.text(message.target).text(message.source_name).u8(message.must_be_directory).u8(message.make_parents);
    append_limit(writer, message.max_file);
    if (message.is_archive) writer.u8(1);
    return writer.finish();
}

PutMessage decode_put(std::string_view payload) {
    Reader reader(payload);
    PutMessage message;
    message.target = path_field(reader);
    message.source_name = path_field(reader);
    message.must_be_directory = reader.flag();
    message.make_parents = reader.flag();
    message.max_file = limit_field(reader);
    if (!reader.at_end()) message.is_archive = reader.flag();
    reader.expect_end();
    return message;
}

std::string encode(const GetMessage& message) {
    Writer writer(FrameType::get);
    writer.text(message.source);
    append_limit(writer, message.max_file);
    if (message.follow_link) writer.u8(1);
    return writer.finish();
}

GetMessage decode_get(std::string_view payload) {
    Reader reader(payload);
    GetMessage message;
    message.source = path_field(reader);
    message.max_file = limit_field(reader);
    if (!reader.at_end()) message.follow_link = reader.flag();
    reader.expect_end();
    return message;
}

std::string encode(const ListMessage& message) {
    return Writer(FrameType::list).text(message.directory).text(message.prefix).finish();
}

ListMessage decode_list(std::string_view payload) {
    Reader reader(payload);
    ListMessage message;
    message.directory = path_field(reader);
    message.prefix = path_field(reader);
    reader.expect_end();
    return message;
}

std::string encode(const NamesMessage& message) {
    Writer writer(FrameType::names);
    writer.u32(static_cast<std::uint32_t>(message.names.size()));
    for (const ListedName& entry : message.names) writer.u8(entry.is_directory).text(entry.name);
    return writer.finish();
}

NamesMessage decode_names(std::string_view payload) {
    Reader reader(payload);
    const auto count = reader.u32();
    if (count > k_max_names) throw WireError("too many names");
    NamesMessage message;
    for (std::uint32_t i = 0; i < count; ++i) {
        const bool is_directory = reader.flag();
        message.names.push_back({name_field(reader), is_directory});
    }
    reader.expect_end();
    return message;
}

std::string encode(const SurveyMessage& message) {
    Writer writer(FrameType::survey);
    writer.u32(static_cast<std::uint32_t>(message.paths.size()));
    for (const auto& path : message.paths) writer.text(path);
    writer.u8(message.repositories).u32(message.max_content).u8(message.texts).i64(message.since_ns);
    writer.u64(message.max_files).u64(message.max_total).u8(message.only_hashed);
    writer.u32(static_cast<std::uint32_t>(message.hashes.size()));
    for (const auto hash : message.hashes) writer.u64(hash);
    return writer.u64(message.max_entries).u32(message.max_ms).finish();
}

SurveyMessage decode_survey(std::string_view payload) {
    Reader reader(payload);
    SurveyMessage message;
    const auto paths = reader.u32();
    if (paths > k_max_survey_paths) throw WireError("too many paths");
    for (std::uint32_t i = 0; i < paths; ++i) message.paths.push_back(path_field(reader));
    message.repositories = reader.flag();
    message.max_content = reader.u32();
    message.texts = reader.flag();
    message.since_ns = reader.i64();
    message.max_files = reader.u64();
    message.max_total = reader.u64();
    message.only_hashed = reader.flag();
    const auto hashes = reader.u32();
    if (hashes > k_max_survey_hashes) throw WireError("too many hashes");
    for (std::uint32_t i = 0; i < hashes; ++i) message.hashes.push_back(reader.u64());
    message.max_entries = reader.u64();
    message.max_ms = reader.u32();
    reader.expect_end();
    return message;
}

std::string encode(const DoneMessage& message) {
    Writer writer(FrameType::done);
    return writer.u64(message.files).u64(message.bytes).u64(message.skipped).finish();
}

DoneMessage decode_done(std::string_view payload) {
    Reader reader(payload);
    DoneMessage message;
    message.files = reader.u64();
    message.bytes = reader.u64();
    message.skipped = reader.u64();
    reader.expect_end();
    return message;
}

} // namespace sandbox::agent
