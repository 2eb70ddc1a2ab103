// SPDX-License-Identifier: Apache-2.0
// What the kernel says inside a container, through an engine exec of the agent's `facts`: on any image, on any engine, and no
// activity. It comes out of the container, so it is bounded, and what is not as expected is "not known".
//
//   if (const auto inside = look_inside(engine, container)) use(inside->memory);
#pragma once

#include "engine/client.hpp"
#include "util/time.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::app {

struct InsideMount {
    std::string target;
    std::string type; // of the file system
    bool read_only = false;
    std::optional<std::uint64_t> size; // tmpfs: bytes
};

// Of PID 1, from which every command of the session comes. Absent: the container does not say.
struct Inside {
    std::optional<std::uint32_t> uid;
    std::optional<std::uint32_t> gid;
    std::optional<std::uint64_t> effective_caps;
    std::optional<std::uint64_t> bounding_caps;
    std::optional<bool> no_new_privileges;
    std::optional<int> seccomp; // 0 off, 1 strict, 2 filter
    std::vector<InsideMount> mounts;
    std::optional<std::vector<std::string>> interfaces; // without lo and the kernel's own tunnel ends
    // 0: no limit
    std::optional<std::uint64_t> memory;
    std::optional<std::uint64_t> swap; // on top of memory
    std::optional<double> cpus;
    std::optional<std::uint64_t> pids;
};

// PID 1 is the host's where the container has the host's process ids; then the process that looked stands for the session.
enum class Whose { first_process, own };
// Absent when the container does not run, is frozen, holds an agent that knows no `facts`, or does not answer in time.
std::optional<Inside> look_inside(engine::Client& engine, const engine::ContainerInfo& container, Milliseconds deadline = Milliseconds(5000));
// The same from what `facts` printed: pure.
std::optional<Inside> parse_facts(std::string_view printed, Whose whose);

} // namespace sandbox::app
