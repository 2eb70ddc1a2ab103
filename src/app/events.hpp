// SPDX-License-Identifier: Apache-2.0
// What use cases leave in the event log. Recording never fails an operation and never says what a command printed or what an
// environment value is; the command line is kept, as docker's events do: secrets go through -e.
//
//   ExecRecord record(context, row, request);
//   record.ended(channel::exec(link, request, io));
#pragma once

#include "app/context.hpp"
#include "channel/agent_client.hpp"
#include "state/events.hpp"
#include "util/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::app {

using EventDetails = std::vector<std::pair<std::string, state::Event::Value>>;

void record(Context& context, state::EventKind kind, const state::SessionRow& row, EventDetails details) noexcept;
// What gc took that belongs to no session any more.
void record_collected(Context& context, std::string_view what, std::string_view id, std::string_view why, const std::string& owner) noexcept;

// One exec: started when the object is made. An exec whose client was killed has a start and no end.
class ExecRecord {
  public:
    ExecRecord(Context& context, const state::SessionRow& row, const channel::ExecRequest& request) noexcept;
    void ended(const channel::ExecResult& result) noexcept;
    void failed(const Error& error) noexcept;

  private:
    void end(EventDetails details) noexcept;

    Context& m_context;
    const state::SessionRow& m_row;
    EventDetails m_what; // id and command
};

// The session's last ended execs, oldest first. Empty once its directory is gone.
std::vector<state::Event> last_execs(const state::Store& store, const std::string& session, std::size_t most);

} // namespace sandbox::app
