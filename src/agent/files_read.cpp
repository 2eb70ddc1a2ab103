// SPDX-License-Identifier: Apache-2.0
#include "agent/files_connection.hpp"
#include "agent/files_messages.hpp"
#include "agent/files_place.hpp"
#include "agent/files_stat.hpp"
#include "agent/files_tools.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

// If the name is a named pipe, open must not wait for a writer.
constexpr int k_read_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
constexpr std::size_t k_block = 256 << 10;
// Of a file whose size is not known before it is read (proc(5)).
constexpr std::uint64_t k_unsized_bytes = 16 << 20;

struct OpenedFile {
    Fd file;
    struct stat info {};
    std::uint64_t size = 0;
    bool is_cut = false; // it goes on after `size`
};

Error not_a_file(const std::string& path, std::string_view what) {
    return {ErrorCode::conflict, quoted(path) + " is " + std::string(what) + ", and no file that can be read"};
}

OpenedFile open_file(const Location& location) {
    OpenedFile opened;
    opened.file = location.base.open(location.path, k_read_flags);
    // What open(2) refuses this way is a socket, or a device without a driver.
    if (!opened.file && (errno == ENXIO || errno == ENODEV)) throw not_a_file(location.path, "a socket or a device");
    if (!opened.file || ::fstat(opened.file.get(), &opened.info) != 0) throw path_error("cannot read", location.path);
    if (!S_ISREG(opened.info.st_mode)) throw not_a_file(location.path, kind_of_file(opened.info.st_mode));
    opened.size = static_cast<std::uint64_t>(opened.info.st_size);
    return opened;
}

// A file that says it is empty and is not, in memory: from then on it is one like others.
void take_into_memory(OpenedFile& opened, const std::string& path) {
    std::unique_ptr<char[]> block(new char[k_block]);
    Fd memory;
    while (opened.size <= k_unsized_bytes) {
        const ssize_t count = ::read(opened.file.get(), block.get(), k_block);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno != EAGAIN) throw path_error("cannot read", path);
        if (count <= 0) break;
        if (!memory) memory.reset(::memfd_create("read", MFD_CLOEXEC));
        if (!memory) throw errno_error("cannot hold " + quoted(path));
        write_all(memory.get(), {block.get(), static_cast<std::size_t>(count)});
        opened.size += static_cast<std::uint64_t>(count);
    }
    opened.is_cut = opened.size > k_unsized_bytes;
    opened.size = std::min(opened.size, k_unsized_bytes);
    if (memory) opened.file = std::move(memory);
}

// The bytes as they are now; where the file has become shorter, fewer.
std::uint64_t send_range(WorkerConnection& connection, int fd, const PageRange& range) {
    std::unique_ptr<char[]> block(new char[k_block]);
    std::uint64_t at = range.begin;
    while (at < range.end) {
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(k_block, range.end - at));
        const ssize_t count = ::pread(fd, block.get(), wanted, static_cast<off_t>(at));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw errno_error("cannot read the file");
        if (count == 0) break;
        connection.write(FrameType::data, {block.get(), static_cast<std::size_t>(count)});
        at += static_cast<std::uint64_t>(count);
    }
    return at - range.begin;
}

} // namespace

void serve(WorkerConnection& connection, const SessionContext& context, const ReadFileRequest& request) {
    const Location location = locate(context.workdir, request.path);
    OpenedFile opened = open_file(location);
    if (opened.size == 0) take_into_memory(opened, location.path);
    if (request.max_file && opened.size > *request.max_file) {
        throw Error(ErrorCode::limit_exceeded, quoted(request.path) + " is larger than " + std::to_string(*request.max_file) + " bytes");
    }
    if (opened.is_cut && request.page.unit == PageUnit::last_lines) {
        throw Error(ErrorCode::limit_exceeded, quoted(request.path) + " does not tell its size, and is too long to be looked for its end");
    }
    PageMessage message;
    message.range = find_page(opened.file.get(), opened.size, request.page, [&] { expect_client(connection); });
    if (opened.is_cut && message.range.end == opened.size) message.range.truncated = true;
    message.mode = opened.info.st_mode & 07777;
    message.mtime_ns = nanoseconds(opened.info.st_mtim);
    connection.write(encode(message));
    DoneMessage done;
    done.files = 1;
    done.bytes = send_range(connection, opened.file.get(), message.range);
    connection.write(FrameType::data, {});
    connection.write(encode(done));
}

} // namespace sandbox::agent
