// SPDX-License-Identifier: Apache-2.0
// What the parts of Client share: one transport, the negotiated version, and short forms of the plain calls.
#pragma once

#include "engine/api_version.hpp"
#include "engine/client.hpp"
#include "engine/failure.hpp"
#include "engine/transport.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::engine {

struct Calls {
    Calls(Endpoint endpoint, Timeouts timeouts) : transport(std::move(endpoint), timeouts) {}

    // "/v1.41"; asks the engine on first use.
    std::string versioned(std::string_view path);
    ApiVersion version();
    Response call(Request request);
    Response get(std::string_view path) { return call({.method = "GET", .target = std::string(path)}); }
    Response del(std::string_view path) { return call({.method = "DELETE", .target = std::string(path)}); }
    // `slow`: the engine may wait for the kernel or a process before it answers.
    Response post(std::string_view path, std::string body = {}, bool slow = false);
    // A connection of its own, the head read, for a stream.
    Exchange open(Request request);

    Transport transport;
    std::optional<ApiVersion> negotiated;
};

struct Client::Impl : Calls {
    using Calls::Calls;
    std::vector<std::string> warnings;
};

// "/containers/<id>" and the like, encoded. Throws internal for an empty id, which would be another call altogether.
std::string object_path(std::string_view collection, std::string_view id, std::string_view action = {});
// Throws `failure` unless the answer is a success.
void expect_ok(const Response& response, std::string_view context);

// Pauses that double from 5 ms to 200 ms until a deadline.
class Backoff {
  public:
    explicit Backoff(std::chrono::milliseconds deadline) : m_until(Clock::now() + deadline) {}
    bool is_over() const { return Clock::now() >= m_until; }
    std::chrono::milliseconds left() const;
    void pause();

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point m_until;
    std::chrono::milliseconds m_next{5};
};

} // namespace sandbox::engine
