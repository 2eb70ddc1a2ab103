// SPDX-License-Identifier: Apache-2.0
// Ends sessions on request and tells the truth about what is left (law 10).
//
//   const DestroyReport report = destroy_sessions(context, selection);
#pragma once

#include "app/context.hpp"
#include "util/error.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sandbox::app {

struct DestroySelection {
    std::vector<std::string> names;            // ids or names
    bool all = false;                          // every open session of the owner
    std::map<std::string, std::string> labels; // those that carry all of these
    bool all_owners = false;
    bool ignore_missing = false;
};

struct DestroyedSession {
    std::string id;
    std::string name;
    bool was_gone = false; // destroyed or expired before this call
};
struct DestroyFailure {
    std::string target; // as it was named
    Error error;
};
struct DestroyReport {
    std::vector<DestroyedSession> destroyed;
    std::vector<DestroyFailure> failures;
};

// Goes on with the rest when one fails. Throws only what concerns the whole call (usage, a state that cannot be read).
DestroyReport destroy_sessions(Context& context, const DestroySelection& selection);

} // namespace sandbox::app
