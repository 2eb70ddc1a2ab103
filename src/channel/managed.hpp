// SPDX-License-Identifier: Apache-2.0
// Managed processes: commands that the agent starts, watches and stops, and that outlive the call that started them. Their logs are in
// managed_log.hpp.
//
//   const auto started = start_process(link, request, [](const ManagedProcess& process) { print(process.id); });
//   const ManagedProcess ended = wait_process(link, "web");
#pragma once

#include "agent/managed_messages.hpp"
#include "channel/agent_client.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sandbox::channel {

// Checked: its id and name hold what ids and names may; everything else is the container's word, to be printed safely.
using ManagedProcess = agent::ManagedInfo;
using agent::ManagedState;
using agent::is_process_name;
using agent::k_max_ready_log;
std::string_view state_name(ManagedState state); // as in --json

struct ProcessRequest {
    std::vector<std::string> argv;
    Environment env;  // over the session's
    std::string cwd;  // absolute, or relative to the workdir; empty: the workdir
    std::string name; // empty: none
    bool keep_alive = false; // it keeps the session from idling while it runs
    Milliseconds grace{2000}; // between TERM and KILL
    std::uint32_t max_restarts = 0; // when it fails
    std::uint16_t ready_port = 0; // 0: not waited for
    std::string ready_log;        // empty: not waited for; at most k_max_ready_log bytes
    Milliseconds ready_timeout{0};
    std::uint64_t log_limit = 0; // bytes of each stream; the agent keeps 4 MiB at most
    std::uint32_t max_processes = 1; // that may run in the session at once, this one included
};

struct StartedProcess {
    enum class Ready { not_asked, ready, ended, timed_out };
    std::optional<ManagedProcess> process; // absent: it could not be started
    ExecResult failure; // then why: Outcome::start_failed
    Ready ready = Ready::not_asked;
    bool port_seen = true; // what of it was there when the time was over
    bool log_seen = true;
};
// For whoever has something else to heed while the agent is silent: returns when the descriptor is readable or `until` (boot_now_ms) has passed,
// and throws what is to end the waiting, and nothing else.
using Await = std::function<void(int fd, std::int64_t until)>;
// `on_started` is called once the command is executed, before it is waited for; what `await` throws leaves the process running. Throws exists
// when a running one has the name, limit_exceeded when too many run, session_unreachable.
StartedProcess start_process(const Link& link, const ProcessRequest& request, const std::function<void(const ManagedProcess&)>& on_started,
                             const Await& await = {});

// In the order in which they were started. Looking: never counts as activity.
std::vector<ManagedProcess> list_processes(const Link& link, Milliseconds deadline = Milliseconds(10'000));

// A process is named by its id, or by the exact name that it has or was the last to have; not_found when there is none.
// Ends it and all it started: TERM, and KILL after `grace` (absent: what it was started with). Returns when nothing is left, or what
// is left can't be ended (left_running). One that has ended is told as it is.
ManagedProcess stop_process(const Link& link, const std::string& process, std::optional<Milliseconds> grace, const Await& await = {});
// Waits for the end of its first process: counts as activity. Absent when `patience` (absent: for ever) is over first.
std::optional<ManagedProcess> wait_process(const Link& link, const std::string& process, std::optional<Milliseconds> patience,
                                           const Await& await = {});

} // namespace sandbox::channel
