// SPDX-License-Identifier: Apache-2.0
#include "agent/files_connection.hpp"
#include "agent/files_messages.hpp"
#include "agent/files_place.hpp"
#include "agent/files_tools.hpp"
#include "util/error.hpp"
#include "util/staging_directory.hpp"
#include "util/text.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

constexpr const char* k_staged = "file";
constexpr std::uint32_t k_default_mode = 0644;
constexpr std::uint32_t k_default_directory_mode = 0755;
// What a file keeps when its content is replaced: set-user-ID was given to the old content only.
constexpr std::uint32_t k_kept_mode_bits = 01777;

// A file that receives its content beside its place and gets it when all is there.
class NewContent {
  public:
    NewContent(const Place& place, const WriteFileRequest& request) : m_place(place), m_request(request), m_staging(place.directory.get()) {
        m_file.reset(::openat(m_staging.fd(), k_staged, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!m_file) throw errno_error("cannot write beside " + shown());
    }

    void add(std::string_view bytes) {
        m_bytes += bytes.size();
        check_limit(old_size());
        try {
            write_all(m_file.get(), bytes);
        } catch (Error& error) {
            error.context("cannot write " + shown());
            throw;
        }
    }

    WrittenMessage publish() {
        if (m_request.append && m_place.there) return append();
        struct stat info {};
        set_owner_and_mode();
        if (::fstat(m_file.get(), &info) != 0) throw errno_error("cannot write " + shown());
        // Some file systems (network ones, quotas) say only now that there was no room. Released first: it is closed whatever it says.
        if (!m_request.append && ::close(m_file.release()) != 0) throw errno_error("cannot write " + shown());
        // Whoever wanted to append and finds that the file has come meanwhile appends to it.
        if (m_request.append && !take_free_name()) return append();
        if (!m_request.append) take_name();
        return {m_bytes, m_bytes, info.st_mode & 07777, !m_place.there};
    }

  private:
    std::string shown() const { return quoted(m_request.path); }
    std::uint64_t old_size() const { return m_request.append && m_place.there ? static_cast<std::uint64_t>(m_place.there->st_size) : 0; }

    void check_limit(std::uint64_t before) const {
        if (!m_request.max_file || (before <= *m_request.max_file && m_bytes <= *m_request.max_file - before)) return;
        throw Error(ErrorCode::limit_exceeded, shown() + " would be larger than " + std::to_string(*m_request.max_file) + " bytes");
    }

    void set_owner_and_mode() const {
        const auto& old = m_place.there;
        // Only a root with the capability may; for everybody else what they write is theirs.
        if (old && (old->st_uid != ::geteuid() || old->st_gid != ::getegid())) {
            [[maybe_unused]] const int result = ::fchown(m_file.get(), old->st_uid, old->st_gid);
        }
        const std::uint32_t mode = m_request.mode.value_or(old ? old->st_mode & k_kept_mode_bits : k_default_mode);
        if (::fchmod(m_file.get(), mode) != 0) throw errno_error("cannot set the mode of " + shown());
    }

    void take_name() const {
        if (::renameat(m_staging.fd(), k_staged, m_place.directory.get(), m_place.name.c_str()) != 0) throw errno_error("cannot replace " + shown());
    }

    // False when something is of that name by now.
    bool take_free_name() const {
        if (::renameat2(m_staging.fd(), k_staged, m_place.directory.get(), m_place.name.c_str(), RENAME_NOREPLACE) == 0) return true;
        if (errno == EEXIST) return false;
        if (errno != EINVAL && errno != ENOSYS) throw errno_error("cannot write " + shown());
        take_name();
        return true;
    }

    // In place: who holds the file open goes on writing to the same one, and so do its other names.
    WrittenMessage append() {
        const Fd target(::openat(m_place.directory.get(), m_place.name.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
        struct stat info {};
        if (!target || ::fstat(target.get(), &info) != 0) throw errno_error("cannot append to " + shown());
        if (!S_ISREG(info.st_mode)) throw Error(ErrorCode::conflict, shown() + " is " + std::string(kind_of_file(info.st_mode)) + ", and takes no content");
        const auto before = static_cast<std::uint64_t>(info.st_size);
        check_limit(before);
        copy_behind(target.get(), before);
        if (m_request.mode && ::fchmod(target.get(), *m_request.mode) != 0) throw errno_error("cannot set the mode of " + shown());
        return {m_bytes, before + m_bytes, m_request.mode.value_or(info.st_mode & 07777), false};
    }

    // All of it or, as far as it can be taken back, nothing.
    void copy_behind(int target, std::uint64_t before) const {
        // That there is room is known before the first byte, where the file system can tell.
        const auto length = static_cast<off_t>(m_bytes);
        if (m_bytes > 0 && ::fallocate(target, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(before), length) != 0 && (errno == ENOSPC || errno == EDQUOT)) {
            throw errno_error("cannot append to " + shown());
        }
        if (::lseek(m_file.get(), 0, SEEK_SET) < 0) throw errno_error("cannot append to " + shown());
        std::uint64_t written = 0;
        try {
            std::array<char, 64 << 10> block;
            while (const std::size_t count = read_some(m_file.get(), block)) {
                for (std::size_t done = 0; done < count;) {
                    const ssize_t more = ::write(target, block.data() + done, count - done);
                    if (more < 0 && errno != EINTR) throw errno_error("write");
                    if (more < 0) continue;
                    done += static_cast<std::size_t>(more);
                    written += static_cast<std::uint64_t>(more);
                }
            }
        } catch (Error& error) {
            struct stat info {};
            // Unless somebody else has written behind it since: those bytes are not ours to take.
            if (::fstat(target, &info) == 0 && static_cast<std::uint64_t>(info.st_size) == before + written) {
                [[maybe_unused]] const int result = ::ftruncate(target, static_cast<off_t>(before));
            }
            error.context("cannot append to " + shown());
            throw;
        }
    }

    const Place& m_place;
    const WriteFileRequest& m_request;
    StagingDirectory m_staging;
    Fd m_file;
    std::uint64_t m_bytes = 0;
};

void refuse_no_file(const Place& place, const std::string& path) {
    if (!place.there || S_ISREG(place.there->st_mode)) return;
    throw Error(ErrorCode::conflict, quoted(path) + " is " + std::string(kind_of_file(place.there->st_mode)) + ", and takes no content");
}

} // namespace

void serve(WorkerConnection& connection, const SessionContext& context, const WriteFileRequest& request) {
    const Location location = locate(context.workdir, request.path);
    if (must_be_directory(request.path)) throw Error(ErrorCode::conflict, quoted(request.path) + " names a directory, and no file");
    const Place place = find_place(location, Links::followed, request.make_parents);
    refuse_no_file(place, request.path);
    NewContent content(place, request);
    for (;;) {
        const FrameView frame = expect_frame(connection);
        if (frame.type != FrameType::data) throw WireError("unexpected frame");
        if (frame.payload.empty()) break;
        content.add(frame.payload);
    }
    connection.write(encode(content.publish()));
}

void serve(WorkerConnection& connection, const SessionContext& context, const MakeDirectoryRequest& request) {
    const Location location = locate(context.workdir, request.path);
    DoneMessage done;
    if (request.make_parents && base_name(location.path).empty()) {
        make_directories_in(location.base, location.path); // the workdir, or "/": they are there
    } else {
        const Place place = find_place(location, request.make_parents ? Links::followed : Links::taken, request.make_parents);
        const std::uint32_t mode = request.mode.value_or(k_default_directory_mode);
        const bool is_made = ::mkdirat(place.directory.get(), place.name.c_str(), mode) == 0;
        if (!is_made && errno != EEXIST) throw path_error("cannot make directory", request.path);
        if (!is_made) {
            struct stat info {};
            const bool is_directory = ::fstatat(place.directory.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
            if (!is_directory) throw Error(ErrorCode::conflict, quoted(request.path) + " is there, and no directory");
            if (!request.make_parents) throw Error(ErrorCode::exists, quoted(request.path) + " is there already");
        } else if (::fchmodat(place.directory.get(), place.name.c_str(), mode, 0) != 0) { // whatever the umask
            throw path_error("cannot set the mode of", request.path);
        }
        done.files = is_made ? 1 : 0;
    }
    connection.write(encode(done));
}

} // namespace sandbox::agent
