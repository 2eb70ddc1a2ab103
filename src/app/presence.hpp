// SPDX-License-Identifier: Apache-2.0
// Whether the process that a session ends with (run, with) is still there. The agent sees by itself when it is not; this is for the row that
// then stays: a lock in the session's directory, which dies with its holder (law 4).
//
//   const FileLock presence = lock_presence(store, id);
//   for (const auto& id : abandoned_sessions(store)) ...
#pragma once

#include "state/store.hpp"
#include "util/fs.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::app {

// Why such a session has ended.
inline constexpr std::string_view k_abandoned = "the sandbox that it was made for was killed";

// The session's directory must be there. The holder removes the file where the session is to outlive it.
FileLock lock_presence(const state::Store& store, const std::string& id);
// The ids of those whose process is gone, in no order. The look costs some microseconds for each session of the instance.
std::vector<std::string> abandoned_sessions(const state::Store& store);
bool is_abandoned(const state::Store& store, const std::string& id);

} // namespace sandbox::app
