// SPDX-License-Identifier: Apache-2.0
// Managed processes of a session: started within its limits, and what is to be said of their ends.
//
//   const auto target = open_for_exec(context, "job-981");
//   const auto started = start_process(context, target, request, on_started);
//   if (const auto error = start_error(context, target, started, request)) throw *error;
#pragma once

#include "app/exec.hpp"
#include "channel/managed.hpp"
#include "channel/managed_log.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sandbox::app {

// Log and number of processes are bounded by the session's limits. Throws what channel::start_process throws, and interrupted while it
// waits for the process to be ready; the process goes on.
channel::StartedProcess start_process(Context& context, const ExecTarget& target, channel::ProcessRequest request,
                                      const std::function<void(const channel::ManagedProcess&)>& on_started);
// Why it could not be started, or is not ready; with the last lines that it printed. Absent: it runs.
std::optional<Error> start_error(Context& context, const ExecTarget& target, const channel::StartedProcess& started,
                                 const channel::ProcessRequest& request);
// The status for that: 127 and 126 as for exec, 124 when it was not ready in time, else 1.
int start_exit_status(const channel::StartedProcess& started);

std::vector<channel::ManagedProcess> list_processes(Context& context, const state::SessionRow& row);
// The one that is meant by an id or a name. Throws not_found.
channel::ManagedProcess find_process(Context& context, const state::SessionRow& row, const std::string& process);
struct StoppedProcess {
    channel::ManagedProcess before; // when it was asked for
    channel::ManagedProcess process; // now
};
StoppedProcess stop_process(Context& context, const state::SessionRow& row, const std::string& process, std::optional<Milliseconds> grace);
// Absent when `patience` is over first.
std::optional<channel::ManagedProcess> wait_process(Context& context, const state::SessionRow& row, const std::string& process,
                                                    std::optional<Milliseconds> patience);

// As people call it: its name, else its id.
std::string called(const channel::ManagedProcess& process);
// "SIGTERM".
std::string signal_name(std::uint32_t number);
// The process's own status, 128+n after a signal; 124 when the session's end stopped it, 125 when it was aborted.
int process_exit_status(const channel::ManagedProcess& process);
// What is to be said of one that did not end by itself, or left something behind; absent otherwise.
std::optional<Error> process_error(const channel::ManagedProcess& process);

// Where a log goes to. Whoever follows it must not hold the session when nobody reads any more: `output` is watched, and when its reader is gone
// the call throws interrupted with SIGPIPE. -1: nothing is.
template <typename... Piece> struct LogSink {
    std::function<void(Piece...)> on_piece;
    int output = -1;
};

// One process's log. Throws what LogReader throws, and aborted when what kept it was killed meanwhile.
channel::ManagedProcess read_log(Context& context, const state::SessionRow& row, const channel::LogQuery& query, channel::Follow follow,
                                 const LogSink<const channel::LogPiece&>& sink);

// All processes' logs as one, ordered by time. Follow::yes goes on until nothing runs any more, and takes in who is started meanwhile.
struct MergedSink : LogSink<const channel::ManagedProcess&, const channel::LogPiece&> {
    std::function<void(const channel::ManagedProcess&)> on_lost; // its keeper was killed, and the log of it with it
};
// Whether any of them has ever printed something, asked for or not.
bool read_all_logs(Context& context, const state::SessionRow& row, const channel::LogQuery& query, channel::Follow follow, const MergedSink& sink);

} // namespace sandbox::app
