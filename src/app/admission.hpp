// SPDX-License-Identifier: Apache-2.0
// A place for a new session where a config bounds their number: at once, after waiting, or not at all.
//
//   insert_when_admitted(context, row, {capacity, std::chrono::seconds(60)}, interrupt, stamp);
#pragma once

#include "app/context.hpp"
#include "app/interrupt.hpp"
#include "domain/capacity.hpp"
#include "util/time.hpp"

#include <functional>

namespace sandbox::app {

struct AdmissionRules {
    domain::Capacity capacity;
    Milliseconds wait{0};
};

// Inserts the row as soon as the rules give its owner a place; `stamp` sets the row's times before each try, since a
// session's life starts when it has one. Throws no_capacity when the waiting is over, and what Store::insert throws.
void insert_when_admitted(Context& context, state::SessionRow& row, const AdmissionRules& rules, Interrupt& interrupt,
                          const std::function<void()>& stamp);

} // namespace sandbox::app
