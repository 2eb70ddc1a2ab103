// SPDX-License-Identifier: Apache-2.0
#include "channel/files.hpp"

#include "agent/files_messages.hpp"
#include "agent/files_request.hpp"
#include "channel/connection.hpp"
#include "channel/tree_transfer.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <memory>

namespace sandbox::channel {
namespace {

using agent::FrameType;
using agent::FrameView;
using agent::Operation;

constexpr std::size_t k_input_piece = 256 << 10;

agent::FramedStream open_files(const Link& link, const agent::FilesRequest& request) {
    const std::string& path = std::visit([](const auto& one) -> const std::string& { return one.path; }, request);
    if (path.size() > agent::k_max_path_field) throw Error(ErrorCode::usage, "the path is too long");
    if (path.find('\0') != std::string::npos) throw Error(ErrorCode::usage, "the path " + quoted(path) + " holds a NUL, which no path does");
    return open_live_connection(link, Operation::files, agent::encode(request));
}

// What follows from the agent's words, and what is none.
template <typename Body> auto checked(Body body) {
    try {
        return body();
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    }
}

FrameView expect(agent::FramedStream& connection, FrameType type, InterruptWatch& interrupts) {
    const FrameView frame = next_frame(connection, interrupts);
    if (frame.type != type) throw broken_protocol("unexpected frame");
    return frame;
}

std::uint64_t count_of_done(const Link& link, const agent::FilesRequest& request) {
    // Nothing is at stake before it is open: until then a signal ends the program.
    agent::FramedStream connection = open_files(link, request);
    InterruptWatch interrupts;
    return checked([&] { return agent::decode_done(expect(connection, FrameType::done, interrupts).payload).files; });
}

FileEntry public_entry(agent::ListedEntry& entry) {
    return {std::move(entry.path), entry.type, entry.size, entry.mode, entry.mtime_ns, entry.uid, entry.gid, std::move(entry.link), std::move(entry.problem)};
}

// The agent may promise less than was asked for, and give less than it promised, but never more.
void check_promise(const PageRange& range, const ReadFileOptions& options) {
    const std::uint64_t length = range.end - range.begin;
    const bool by_bytes = options.page.unit == PageUnit::bytes;
    if (length > options.page.max_bytes || (by_bytes && length > options.page.count)) throw broken_protocol("a page that is too long");
    if (options.max_file && length > *options.max_file) throw broken_protocol("a file that is too long");
}

} // namespace

FileList list_files(const Link& link, const ListFilesOptions& options) {
    agent::ListFilesRequest request;
    request.path = options.path.empty() ? "." : options.path;
    request.depth = options.depth;
    request.max_entries = options.max_entries;
    // Nothing is at stake before it is open: until then a signal ends the program.
    agent::FramedStream connection = open_files(link, request);
    InterruptWatch interrupts;
    FileList list;
    std::uint64_t bytes_left = agent::list_bytes(options.max_entries);
    return checked([&] {
        for (;;) {
            agent::EntriesMessage message = agent::decode_entries(expect(connection, FrameType::reply, interrupts).payload);
            if (message.entries.size() > options.max_entries - list.entries.size()) throw broken_protocol("too many entries");
            for (const auto& entry : message.entries) {
                if (agent::bytes_of(entry) > bytes_left) throw broken_protocol("entries that are too long");
                bytes_left -= agent::bytes_of(entry);
            }
            std::ranges::transform(message.entries, std::back_inserter(list.entries), public_entry);
            list.truncated = message.truncated;
            if (message.is_last) return std::move(list);
            if (message.entries.empty()) throw broken_protocol("no entries");
        }
    });
}

FilePage read_page(const Link& link, const ReadFileOptions& options, const FileSink& write) {
    agent::ReadFileRequest request;
    request.path = options.path;
    request.page = options.page;
    request.max_file = options.max_file;
    // Nothing is at stake before it is open: until then a signal ends the program.
    agent::FramedStream connection = open_files(link, request);
    InterruptWatch interrupts;
    FilePage page;
    checked([&] {
        const agent::PageMessage message = agent::decode_page(expect(connection, FrameType::reply, interrupts).payload);
        check_promise(message.range, options);
        page.range = message.range;
        page.mode = message.mode;
        page.mtime_ns = message.mtime_ns;
    });
    const auto wait_writable = [&interrupts](int fd) {
        wait_writable_or_interrupted(fd, interrupts);
        return true;
    };
    const auto take = [&](std::string_view bytes) {
        page.bytes += bytes.size();
        if (page.bytes > page.range.end - page.range.begin) throw broken_protocol("more than it promised");
        write(bytes, wait_writable);
    };
    const agent::DoneMessage done = download(connection, take, [] {}, interrupts);
    if (done.bytes != page.bytes) throw broken_protocol("another length than it says");
    return page;
}

FileText read_text(const Link& link, const ReadFileOptions& options) {
    FileText text;
    text.page = read_page(link, options, [&](std::string_view bytes, const auto&) { text.content += bytes; });
    text.is_utf8 = is_valid_utf8(text.content);
    text.is_binary = is_binary(text.content);
    return text;
}

WrittenFile write_file(const Link& link, const ArchiveInput& input, const WriteFileOptions& options) {
    agent::WriteFileRequest request;
    request.path = options.path;
    request.mode = options.mode;
    request.append = options.append;
    request.make_parents = options.make_parents;
    request.max_file = options.max_file;
    agent::FramedStream connection = open_files(link, request);
    DataUpload to(connection, options.progress);
    return upload(to, [&] {
        const std::unique_ptr<char[]> piece(new char[k_input_piece]);
        const auto wait_readable = [&to](int fd) { to.wait_for_input(fd); };
        while (const std::size_t count = input({piece.get(), k_input_piece}, wait_readable)) to.send({piece.get(), count});
        const std::string payload = to.end(FrameType::reply);
        return checked([&] {
            const agent::WrittenMessage message = agent::decode_written(payload);
            return WrittenFile{message.bytes, message.size, message.mode, message.created};
        });
    });
}

bool make_directory(const Link& link, const MakeDirectoryOptions& options) {
    agent::MakeDirectoryRequest request;
    request.path = options.path;
    request.mode = options.mode;
    request.make_parents = options.make_parents;
    return count_of_done(link, request) > 0;
}

std::uint64_t remove_file(const Link& link, const RemoveFileOptions& options) {
    agent::RemoveRequest request;
    request.path = options.path;
    request.recursive = options.recursive;
    request.ignore_missing = options.ignore_missing;
    return count_of_done(link, request);
}

} // namespace sandbox::channel
