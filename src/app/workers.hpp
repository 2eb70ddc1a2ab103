// SPDX-License-Identifier: Apache-2.0
// Several sessions at a time: an engine takes a fifth of a second to end one, most of it waiting.
//
//   for_each_at_once(context, rows.size(), [&](Context& own, std::size_t i) { results[i] = end(own, rows[i]); });
#pragma once

#include "app/context.hpp"

#include <cstddef>
#include <functional>

namespace sandbox::app {

// Calls body(context, i) for every i below `count`, in no order and some at the same time; returns when all are done. Each
// worker has a context of its own, since a store and an engine client are for one thread; what they tell goes through
// `context` one at a time. A body that throws ends its worker's round only, and the first error is thrown when all are done.
void for_each_at_once(Context& context, std::size_t count, const std::function<void(Context&, std::size_t)>& body);

} // namespace sandbox::app
