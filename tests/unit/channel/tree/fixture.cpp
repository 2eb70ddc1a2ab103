// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <unistd.h>

namespace sandbox::tests {

namespace fs = std::filesystem;

channel::Link Peer::link() {
    channel::Link link;
    link.dial = [this]() -> std::unique_ptr<Stream> {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        m_threads.emplace_back([this, fd = ends[1]] {
            agent::FramedStream connection(std::make_unique<SocketStream>(Fd(fd)));
            agent::HelloMessage hello;
            hello.version = version;
            hello.nonce = std::string(32, 'n');
            connection.write(agent::encode(hello));
            m_serve(connection);
        });
        return std::make_unique<SocketStream>(Fd(ends[0]));
    };
    return link;
}

void Peer::join() {
    for (auto& thread : m_threads) thread.join();
    m_threads.clear();
}

Fixture::Fixture()
    : worker([this](agent::FramedStream& connection) {
          const auto frame = connection.read_frame();
          if (!frame) return;
          agent::SessionContext context;
          context.workdir = workdir;
          const agent::OpenMessage open = agent::decode_open(frame->payload);
          agent::run_file_worker(connection, open.operation, open.version, context);
      }) {
    for (const auto& path : {host, workdir, outside}) make_directories(path, 0755);
}

channel::TransferStats Fixture::put(const std::string& source, const std::string& target, std::string source_name) {
    channel::PutOptions options;
    options.target = target;
    options.source_name = std::move(source_name);
    options.target_must_be_directory = target.ends_with('/');
    return channel::put_tree(worker.link(), source, options);
}

channel::TransferStats Fixture::get(const std::string& source, const std::string& target) {
    return channel::get_tree(worker.link(), {source, target, std::nullopt});
}

void write_file(const std::string& path, std::string_view content, mode_t mode) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    REQUIRE(file);
    write_all(file.get(), content);
    REQUIRE(::fchmod(file.get(), mode) == 0);
}

std::string content_of(const std::string& path) { return read_file(path).value_or("<missing>"); }

bool exists(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0;
}

struct stat stat_of(const std::string& path) {
    struct stat info {};
    REQUIRE(::lstat(path.c_str(), &info) == 0);
    return info;
}

void set_mtime(const std::string& path, std::int64_t seconds, long nanoseconds) {
    const timespec times[2] = {{0, UTIME_OMIT}, {seconds, nanoseconds}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
}

std::string describe(const std::string& root, bool with_times) {
    std::vector<std::string> lines;
    const auto add = [&](const std::string& path) {
        const struct stat info = stat_of(path);
        std::string line = path.substr(root.size()) + " " + std::to_string(info.st_mode);
        if (with_times) line += " " + std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
        if (S_ISREG(info.st_mode)) line += " " + content_of(path);
        if (S_ISLNK(info.st_mode)) line += " -> " + fs::read_symlink(path).string();
        lines.push_back(line);
    };
    add(root);
    if (fs::is_directory(fs::symlink_status(root))) {
        for (const auto& entry : fs::recursive_directory_iterator(root)) add(entry.path().string());
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    return text;
}

std::pair<ErrorCode, std::string> error_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& error) {
        return {error.code(), error.message()};
    }
    FAIL("no Error was thrown");
    return {ErrorCode::internal, ""};
}

} // namespace sandbox::tests
