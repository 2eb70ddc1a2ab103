// SPDX-License-Identifier: Apache-2.0
// What goes on until somebody ends it has not failed when somebody does.
//
//   return until_interrupted(has_begun, [&] { app::forward(...); });
#pragma once

#include "util/error.hpp"

namespace sandbox::cli {

// The exit status of `body` when a signal ends it: 130, 143 or 129, without a word once `has_begun`. Anything else it throws is thrown on.
template <typename Body> int until_interrupted(const bool& has_begun, Body body) {
    try {
        body();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::interrupted || !has_begun) throw;
        return error.exit_status();
    }
    return 0;
}

} // namespace sandbox::cli
