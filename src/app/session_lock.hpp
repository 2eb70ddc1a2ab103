// SPDX-License-Identifier: Apache-2.0
// The lock that whoever changes a session holds, waited for as long as another command may take.
//
//   const FileLock lock = lock_for_change(store, row);   // busy when somebody holds it for long
#pragma once

#include "state/store.hpp"

namespace sandbox::app {

// Throws busy. What `row` says may have changed meanwhile: look it up again.
FileLock lock_for_change(const state::Store& store, const state::SessionRow& row);

} // namespace sandbox::app
