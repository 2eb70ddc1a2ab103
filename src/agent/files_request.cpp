// SPDX-License-Identifier: Apache-2.0
#include "agent/files_request.hpp"

#include "agent/files_fields.hpp"
#include "agent/files_messages.hpp"

namespace sandbox::agent {
namespace {

enum class Kind : std::uint8_t { list = 1, read, write, make_directory, remove };

constexpr std::uint32_t k_all_mode_bits = 07777;

std::uint32_t mode_field(Reader& reader) {
    const auto mode = reader.u32();
    if (mode > k_all_mode_bits) throw WireError("bad mode");
    return mode;
}

template <typename T> void append_optional(Writer& writer, const std::optional<T>& value) { writer.u8(value ? 1 : 0).u64(value.value_or(0)); }

std::optional<std::uint32_t> optional_mode_field(Reader& reader) {
    const auto value = limit_field(reader);
    if (!value) return std::nullopt;
    if (*value > k_all_mode_bits) throw WireError("bad mode");
    return static_cast<std::uint32_t>(*value);
}

Writer start(Kind kind, const std::string& path) {
    Writer writer(FrameType::request);
    writer.u8(static_cast<std::uint8_t>(kind)).text(path);
    return writer;
}

std::string encode_kind(const ListFilesRequest& request) {
    return start(Kind::list, request.path).u32(request.depth).u64(request.max_entries).finish();
}

std::string encode_kind(const ReadFileRequest& request) {
    Writer writer = start(Kind::read, request.path);
    writer.u8(static_cast<std::uint8_t>(request.page.unit)).u64(request.page.start).u64(request.page.count).u64(request.page.max_bytes);
    append_optional(writer, request.max_file);
    return writer.finish();
}

std::string encode_kind(const WriteFileRequest& request) {
    Writer writer = start(Kind::write, request.path);
    append_optional(writer, request.mode);
    writer.u8(request.append).u8(request.make_parents);
    append_optional(writer, request.max_file);
    return writer.finish();
}

std::string encode_kind(const MakeDirectoryRequest& request) {
    Writer writer = start(Kind::make_directory, request.path);
    append_optional(writer, request.mode);
    return writer.u8(request.make_parents).finish();
}

std::string encode_kind(const RemoveRequest& request) {
    return start(Kind::remove, request.path).u8(request.recursive).u8(request.ignore_missing).finish();
}

ListFilesRequest list_fields(Reader& reader, std::string path) {
    ListFilesRequest request;
    request.path = std::move(path);
    request.depth = reader.u32();
    request.max_entries = reader.u64();
    return request;
}

ReadFileRequest read_fields(Reader& reader, std::string path) {
    ReadFileRequest request;
    request.path = std::move(path);
    const auto unit = reader.u8();
    if (unit > static_cast<std::uint8_t>(PageUnit::last_lines)) throw WireError("bad unit");
    request.page.unit = static_cast<PageUnit>(unit);
    request.page.start = reader.u64();
    request.page.count = reader.u64();
    request.page.max_bytes = reader.u64();
    if (request.page.unit == PageUnit::lines && request.page.start == 0) throw WireError("there is no line 0");
    if (request.page.max_bytes == 0) throw WireError("no bytes are wanted");
    request.max_file = limit_field(reader);
    return request;
}

WriteFileRequest write_fields(Reader& reader, std::string path) {
    WriteFileRequest request;
    request.path = std::move(path);
    request.mode = optional_mode_field(reader);
    request.append = reader.flag();
    request.make_parents = reader.flag();
    request.max_file = limit_field(reader);
    return request;
}

FilesRequest fields_of(Kind kind, Reader& reader, std::string path) {
    switch (kind) {
    case Kind::list: return list_fields(reader, std::move(path));
    case Kind::read: return read_fields(reader, std::move(path));
    case Kind::write: return write_fields(reader, std::move(path));
    case Kind::make_directory: {
        MakeDirectoryRequest request;
        request.path = std::move(path);
        request.mode = optional_mode_field(reader);
        request.make_parents = reader.flag();
        return request;
    }
    case Kind::remove: {
        RemoveRequest request;
        request.path = std::move(path);
        request.recursive = reader.flag();
        request.ignore_missing = reader.flag();
        return request;
    }
    }
    throw WireError("unknown kind of file operation");
}

ListedEntry entry_fields(Reader& reader) {
    ListedEntry entry;
    entry.path = path_field(reader);
    if (entry.path != "." && !is_safe_tree_path(entry.path)) throw WireError("bad path");
    const auto type = reader.u8();
    if (type < static_cast<std::uint8_t>(InventoryType::file) || type > static_cast<std::uint8_t>(InventoryType::device)) throw WireError("bad type");
    entry.type = static_cast<InventoryType>(type);
    entry.size = reader.u64();
    entry.mode = mode_field(reader);
    entry.mtime_ns = reader.i64();
    entry.uid = reader.u32();
    entry.gid = reader.u32();
    entry.link = std::string(reader.text().substr(0, k_tree_max_link));
    entry.problem = std::string(reader.text().substr(0, k_max_entry_problem));
    return entry;
}

} // namespace

std::string encode(const FilesRequest& request) {
    return std::visit([](const auto& one) { return encode_kind(one); }, request);
}

FilesRequest decode_files_request(std::string_view payload) {
    Reader reader(payload);
    const auto kind = static_cast<Kind>(reader.u8());
    std::string path = path_field(reader);
    FilesRequest request = fields_of(kind, reader, std::move(path));
    reader.expect_end();
    return request;
}

std::string encode(const EntriesMessage& message) {
    Writer writer(FrameType::reply);
    writer.u8(message.is_last).u8(message.truncated).u32(static_cast<std::uint32_t>(message.entries.size()));
    for (const auto& entry : message.entries) {
        writer.text(entry.path).u8(static_cast<std::uint8_t>(entry.type)).u64(entry.size).u32(entry.mode).i64(entry.mtime_ns);
        writer.u32(entry.uid).u32(entry.gid).text(entry.link).text(entry.problem);
    }
    return writer.finish();
}

EntriesMessage decode_entries(std::string_view payload) {
    Reader reader(payload);
    EntriesMessage message;
    message.is_last = reader.flag();
    message.truncated = reader.flag();
    // What is announced reserves nothing: each entry has to be there.
    for (auto count = reader.u32(); count > 0; --count) message.entries.push_back(entry_fields(reader));
    reader.expect_end();
    return message;
}

std::string encode(const PageMessage& message) {
    const PageRange& range = message.range;
    Writer writer(FrameType::reply);
    writer.u64(range.size).u64(range.begin).u64(range.end).u64(range.lines).u64(range.next_line).u8(range.truncated).u8(range.line_cut);
    return writer.u32(message.mode).i64(message.mtime_ns).finish();
}

PageMessage decode_page(std::string_view payload) {
    Reader reader(payload);
    PageMessage message;
    PageRange& range = message.range;
    range.size = reader.u64();
    range.begin = reader.u64();
    range.end = reader.u64();
    range.lines = reader.u64();
    range.next_line = reader.u64();
    range.truncated = reader.flag();
    range.line_cut = reader.flag();
    message.mode = mode_field(reader);
    message.mtime_ns = reader.i64();
    reader.expect_end();
    if (range.begin > range.end || range.end > range.size) throw WireError("bad page");
    return message;
}

std::string encode(const WrittenMessage& message) {
    return Writer(FrameType::reply).u64(message.bytes).u64(message.size).u32(message.mode).u8(message.created).finish();
}

WrittenMessage decode_written(std::string_view payload) {
    Reader reader(payload);
    WrittenMessage message;
    message.bytes = reader.u64();
    message.size = reader.u64();
    message.mode = mode_field(reader);
    message.created = reader.flag();
    reader.expect_end();
    return message;
}

} // namespace sandbox::agent
