// SPDX-License-Identifier: Apache-2.0
// Talking to a session's agent about managed processes, and saying why it can't be talked to.
//
//   return reach(context, row, [](const channel::Link& link) { return channel::list_processes(link); });
#pragma once

#include "app/sessions.hpp"
#include "channel/managed.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <string>

namespace sandbox::app {

// What `talk` returns. Throws what it throws, and for session_unreachable what the engine knows of the session.
template <typename Talk> auto reach(Context& context, const state::SessionRow& row, const Talk& talk) {
    try {
        return talk(link_to(context, row));
    } catch (const Error& error) {
        if (error.code() == ErrorCode::not_found && error.hint().empty()) throw Error(error).hint("sandbox proc ls lists the session's processes");
        if (error.code() != ErrorCode::session_unreachable) throw;
        explain_unreachable(context, row, error);
    }
}

// Asks again when the connection was cut because the process's keeper was killed: the agent itself answers then. `lost` is what is said of one
// that the agent does not know any more: what it printed, or how it ended.
template <typename Ask> auto outliving_keeper(const channel::Link& link, const std::string& process, const std::string& lost, const Ask& ask) {
    try {
        return ask();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_unreachable) throw;
        const auto processes = channel::list_processes(link);
        const auto is_it = [&](const auto& one) { return one.id == process || one.name == process; };
        if (std::none_of(processes.begin(), processes.end(), is_it)) {
            throw Error(ErrorCode::aborted, lost + ": too many others have ended since");
        }
        const auto is_lost = [&](const auto& one) { return (one.id == process || one.name == process) && one.state == channel::ManagedState::aborted; };
        if (std::none_of(processes.begin(), processes.end(), is_lost)) throw;
        return ask();
    }
}

} // namespace sandbox::app
