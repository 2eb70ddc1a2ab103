// SPDX-License-Identifier: Apache-2.0
// The rarer calls about a container that is there: its freezer, and what it uses. A connection of its own, beside a Client's.
//
//   ContainerControl control(engine.endpoint()); control.pause(id);
//   const auto sample = control.stats(id);   // absent: no such container
#pragma once

#include "engine/client.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace sandbox::engine {

struct Calls; // client_impl.hpp

// What a container used up to one moment. Processor time and traffic are counters: two samples give a rate.
struct ContainerStats {
    std::int64_t read_ms = 0;                  // when, by the engine's clock; 0: it does not say, as of a container that does not run
    std::uint64_t cpu_ns = 0;                  // of all its processes since its start
    std::uint64_t memory = 0;                  // bytes, without the files that the kernel could drop: as docker stats shows it
    std::uint64_t memory_limit = 0;            // bytes; the machine's memory where the container has no limit
    std::uint64_t pids = 0;
    std::optional<std::uint64_t> pids_limit;
    std::optional<std::uint64_t> network_in;   // bytes over all its networks; absent without one
    std::optional<std::uint64_t> network_out;
    std::optional<std::uint64_t> block_read;   // bytes; absent where the kernel does not count
    std::optional<std::uint64_t> block_written;
};
// Throws protocol_error for what is no JSON.
ContainerStats parse_stats(std::string_view body);

// Not for use by several threads at once. Throws what Client throws.
class ContainerControl {
  public:
    explicit ContainerControl(Endpoint endpoint, Timeouts timeouts = {});
    ~ContainerControl();
    // One that is paused, or is not, already: conflict.
    void pause(std::string_view id);
    void unpause(std::string_view id);
    std::optional<ContainerStats> stats(std::string_view id);

  private:
    std::unique_ptr<Calls> m_calls;
};

} // namespace sandbox::engine
