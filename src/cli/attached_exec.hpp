// SPDX-License-Identifier: Apache-2.0
// A command in a session with the caller's own streams, or a terminal, on its ends: what exec, run and shell share.
//
//   CommandStreams streams(true, std::nullopt);
//   const auto result = exec_attached(call.context(), target, request, streams);
#pragma once

#include "app/capture.hpp"
#include "app/exec.hpp"
#include "channel/agent_client.hpp"
#include "cli/command.hpp"
#include "cli/documents.hpp"
#include "util/stream_writer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::cli {

// -i, -t and --detach-keys.
std::vector<Option> attach_options();
// What -e and --env-file say, in their order; a NAME alone that is not set here is left out. Throws usage.
channel::Environment command_environment(const Invocation& call);
// "ctrl-p,ctrl-q" as the bytes that a terminal sends for it: single characters and ctrl-X, separated by commas; "" and "none" are none. Throws usage.
std::string parse_detach_keys(std::string_view text);
// What they ask for. Throws usage where there is no terminal to give.
void apply_attach_options(const Invocation& call, channel::ExecRequest& request);
// A terminal of the caller's size and kind.
void give_terminal(channel::ExecRequest& request);

// The output of one command: passed on as it comes, or kept within a limit, or both.
class CommandStreams {
  public:
    CommandStreams(bool passes, std::optional<std::uint64_t> kept_bytes);
    void take(channel::OutputStream stream, std::string_view bytes, const channel::ExecIo& io);
    void fill(ExecDocument& document) const;

  private:
    std::optional<StreamWriter> m_stdout;
    std::optional<StreamWriter> m_stderr;
    std::optional<app::Capture> m_out;
    std::optional<app::Capture> m_err;
};

// Runs it to its end; a terminal is in raw mode meanwhile, and `detach_keys` typed there leave the command to itself. Throws what app::exec_in_session() throws.
channel::ExecResult exec_attached(app::Context& context, const app::ExecTarget& target, const channel::ExecRequest& request, CommandStreams& streams,
                                  const std::string& detach_keys = {});
// What --detach-keys says, or its default, where the command has a terminal and no time-out; empty elsewhere.
std::string detach_keys(const Invocation& call, const channel::ExecRequest& request);

} // namespace sandbox::cli
