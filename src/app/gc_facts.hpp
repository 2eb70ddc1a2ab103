// SPDX-License-Identifier: Apache-2.0
// What gc looks at before it plans: the rows, each engine's objects with our label, and what lies in the state
// directory.
//
//   const auto plan = domain::plan_gc(gather_gc_facts(context, warnings), policy);
#pragma once

#include "app/context.hpp"
#include "domain/gc_plan.hpp"

#include <string>
#include <vector>

namespace sandbox::app {

// `warnings` receives one line for each engine that did not answer: its sessions are then left alone.
domain::GcFacts gather_gc_facts(Context& context, std::vector<std::string>& warnings);

} // namespace sandbox::app
