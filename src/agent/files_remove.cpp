// SPDX-License-Identifier: Apache-2.0
#include "agent/files_connection.hpp"
#include "agent/files_messages.hpp"
#include "agent/files_place.hpp"
#include "agent/files_tools.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/tree_walk.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

constexpr std::uint64_t k_look_every = 256; // entries

// rm -rf of what is below a directory, as long as there is a client to do it for. No link is followed.
class Removal final : public TreeWalk {
  public:
    // `path` is the directory's own, for what is said of failures.
    Removal(WorkerConnection& connection, const std::string& path) : m_connection(connection), m_path(path) {}
    std::uint64_t removed() const { return m_removed; }

  protected:
    bool visit(int directory, const std::string& name, unsigned format) override {
        if (format != S_IFDIR) remove(directory, name, 0);
        return format == S_IFDIR;
    }
    Fd enter(int directory, const std::string& name) override {
        Fd child = try_subdirectory(directory, name, true);
        if (!child) throw path_error("cannot open directory", whole_path(name));
        return child;
    }
    void leave(int directory, const std::string& name) override { remove(directory, name, AT_REMOVEDIR); }

  private:
    std::string whole_path(const std::string& name) const { return m_path + (m_path.ends_with('/') ? "" : "/") + path_of(name); }

    void remove(int directory, const std::string& name, int flags) {
        if (m_removed % k_look_every == 0) expect_client(m_connection);
        if (::unlinkat(directory, name.c_str(), flags) == 0) ++m_removed;
        else if (errno != ENOENT) throw path_error("cannot remove", whole_path(name));
    }
    WorkerConnection& m_connection;
    const std::string& m_path;
    std::uint64_t m_removed = 0;
};

// The workdir and every directory that it is in, "/" among them, by whatever name they are called.
void refuse_ancestors_of(const std::string& workdir, const struct stat& victim, const std::string& path) {
    Fd directory(::open(workdir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (struct stat last {}; directory;) {
        struct stat info {};
        if (::fstat(directory.get(), &info) != 0) break;
        if (info.st_dev == victim.st_dev && info.st_ino == victim.st_ino) {
            throw Error(ErrorCode::conflict, quoted(path) + " is the workdir, or holds it, and stays");
        }
        if (info.st_dev == last.st_dev && info.st_ino == last.st_ino) return; // ".." of "/"
        last = info;
        directory.reset(::openat(directory.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    // Where the workdir cannot be found from here nothing says that this is not above it.
    throw Error(ErrorCode::failed, "cannot tell whether " + quoted(path) + " holds the workdir");
}

std::uint64_t remove_directory(WorkerConnection& connection, const Place& place, const std::string& path) {
    Removal removal(connection, path);
    Fd root = try_subdirectory(place.directory.get(), place.name, true);
    if (!root) throw path_error("cannot open directory", path);
    removal.run(std::move(root));
    if (::unlinkat(place.directory.get(), place.name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) throw path_error("cannot remove", path);
    return removal.removed() + 1;
}

std::uint64_t remove_place(WorkerConnection& connection, const SessionContext& context, const Place& place, const RemoveRequest& request) {
    if (!place.there) {
        if (request.ignore_missing) return 0;
        errno = ENOENT;
        throw path_error("cannot remove", request.path);
    }
    if (!S_ISDIR(place.there->st_mode)) {
        if (::unlinkat(place.directory.get(), place.name.c_str(), 0) != 0) throw path_error("cannot remove", request.path);
        return 1;
    }
    if (!request.recursive) throw Error(ErrorCode::conflict, quoted(request.path) + " is a directory");
    refuse_ancestors_of(context.workdir, *place.there, request.path);
    return remove_directory(connection, place, request.path);
}

std::uint64_t remove(WorkerConnection& connection, const SessionContext& context, const RemoveRequest& request) {
    const Location location = locate(context.workdir, request.path);
    if (base_name(location.path).empty() || means_contents(location.path)) {
        throw Error(ErrorCode::conflict, quoted(request.path.empty() ? "." : request.path) + " names no file of its own, and stays");
    }
    try {
        return remove_place(connection, context, find_place(location, Links::taken), request);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::not_found && request.ignore_missing) return 0;
        throw;
    }
}

} // namespace

void serve(WorkerConnection& connection, const SessionContext& context, const RemoveRequest& request) {
    DoneMessage done;
    done.files = remove(connection, context, request);
    connection.write(encode(done));
}

void serve_files(WorkerConnection& connection, const SessionContext& context) {
    const FilesRequest request = decode_files_request(expect_payload(connection, FrameType::request));
    std::visit([&](const auto& one) { serve(connection, context, one); }, request);
}

} // namespace sandbox::agent
