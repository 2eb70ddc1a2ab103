// SPDX-License-Identifier: Apache-2.0
// A directory that plays a session's root and another that plays the host, with the real worker in a thread behind a
// socket pair.
#pragma once

#include "agent/files.hpp"
#include "agent/messages.hpp"
#include "channel/agent_client.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <thread>
#include <utility>
#include <vector>

namespace sandbox::tests {

// Both ends of a connection; the far one is given to a thread.
class Peer {
  public:
    using Serve = std::function<void(agent::FramedStream&)>;
    explicit Peer(Serve serve) : m_serve(std::move(serve)) {}
    ~Peer() { join(); }
    channel::Link link();
    void join();
    std::uint32_t version = agent::k_protocol_version; // what its hello says

  private:
    Serve m_serve;
    std::vector<std::thread> m_threads;
};

struct Fixture {
    TempDir directory;
    std::string host = directory.path() + "/host";
    std::string workdir = directory.path() + "/root/workspace";
    std::string outside = directory.path() + "/root/outside";
    Peer worker;

    Fixture();
    channel::TransferStats put(const std::string& source, const std::string& target, std::string source_name = {});
    channel::TransferStats get(const std::string& source, const std::string& target);
};

void write_file(const std::string& path, std::string_view content, mode_t mode = 0644);
std::string content_of(const std::string& path);
bool exists(const std::string& path);
struct stat stat_of(const std::string& path);
void set_mtime(const std::string& path, std::int64_t seconds, long nanoseconds);
// One line for each entry: path, type, mode, mtime in ns and content or target. Equal trees have equal descriptions.
std::string describe(const std::string& root, bool with_times = true);
// The code of the Error that `body` throws, and its message; failed to throw is a test failure.
std::pair<ErrorCode, std::string> error_of(const std::function<void()>& body);

} // namespace sandbox::tests
