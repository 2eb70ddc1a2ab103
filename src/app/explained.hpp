// SPDX-License-Identifier: Apache-2.0
// Work with a session's agent whose failures are told as what has become of the session.
//
//   return explained(context, target.row, [&] { return channel::list_ports(link_to(context, target.row)); });
#pragma once

#include "app/context.hpp"
#include "app/sessions.hpp"
#include "util/error.hpp"

namespace sandbox::app {

// Throws what `work` throws, and instead of session_unreachable what explain_unreachable() finds.
template <typename Work> auto explained(Context& context, const state::SessionRow& row, Work work) {
    try {
        return work();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_unreachable) throw;
        explain_unreachable(context, row, error);
    }
}

} // namespace sandbox::app
