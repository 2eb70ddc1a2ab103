// SPDX-License-Identifier: Apache-2.0
#include "engine/container_control.hpp"
#include "engine/json_fields.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <limits>

namespace sandbox::engine {
namespace {

// Counters and limits go up to 2^64-1, which text and number() are not for.
std::optional<std::uint64_t> counter(const Json& json, const char* name) {
    const Json& value = field(json, name);
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    if (value.is_number_integer()) return static_cast<std::uint64_t>(std::max<std::int64_t>(value.get<std::int64_t>(), 0));
    return std::nullopt;
}

void add(std::optional<std::uint64_t>& sum, std::optional<std::uint64_t> more) {
    if (more) sum = sum.value_or(0) + *more;
}

// The page cache that nothing has used lately counts as usage for the kernel and as free for people. Its name differs between cgroup
// v1, where the whole hierarchy is total_*, and v2.
std::uint64_t used_memory(const Json& memory) {
    const std::uint64_t usage = counter(memory, "usage").value_or(0);
    for (const char* name : {"total_inactive_file", "inactive_file"}) {
        const auto inactive = counter(field(memory, "stats"), name);
        if (inactive) return usage > *inactive ? usage - *inactive : usage;
    }
    return usage;
}

void add_networks(const Json& networks, ContainerStats& stats) {
    if (!networks.is_object()) return;
    for (const Json& network : networks) {
        add(stats.network_in, counter(network, "rx_bytes"));
        add(stats.network_out, counter(network, "tx_bytes"));
    }
}

void add_blocks(const Json& entries, ContainerStats& stats) {
    if (!entries.is_array()) return;
    for (const Json& entry : entries) {
        std::string operation = text(entry, "op");
        std::ranges::transform(operation, operation.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (operation == "read") add(stats.block_read, counter(entry, "value"));
        if (operation == "write") add(stats.block_written, counter(entry, "value"));
    }
}

} // namespace

ContainerStats parse_stats(std::string_view body) {
    const Json json = parse_json(body, "a container's stats");
    ContainerStats stats;
    stats.read_ms = std::max<std::int64_t>(0, parse_rfc3339(text(json, "read")).value_or(0)); // "0001-01-01" of one that does not run
    stats.cpu_ns = counter(field(field(json, "cpu_stats"), "cpu_usage"), "total_usage").value_or(0);
    const Json& memory = field(json, "memory_stats");
    stats.memory = used_memory(memory);
    stats.memory_limit = counter(memory, "limit").value_or(0);
    const Json& pids = field(json, "pids_stats");
    stats.pids = counter(pids, "current").value_or(0);
    stats.pids_limit = counter(pids, "limit");
    if (stats.pids_limit == 0 || stats.pids_limit == std::numeric_limits<std::uint64_t>::max()) stats.pids_limit.reset(); // none
    add_networks(field(json, "networks"), stats);
    add_blocks(field(field(json, "blkio_stats"), "io_service_bytes_recursive"), stats);
    return stats;
}

} // namespace sandbox::engine
