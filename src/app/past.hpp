// SPDX-License-Identifier: Apache-2.0
// What became of sessions that are closed, in words.
//
//   throw Error(ErrorCode::session_gone, what_became_of(row));
#pragma once

#include "state/rows.hpp"

#include <string>

namespace sandbox::app {

// 'session "web" was destroyed at 2026-11-29T18:20:00Z (destroyed by uid:0)', for a row that is closed.
std::string what_became_of(const state::SessionRow& row);

} // namespace sandbox::app
