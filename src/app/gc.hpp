// SPDX-License-Identifier: Apache-2.0
// The administrative clean-up of a whole instance: see, plan (domain/gc_plan.hpp), and apply with another look at each
// item just before it is touched.
//
//   const GcReport report = collect_garbage(context, {}, DryRun::no);
#pragma once

#include "app/context.hpp"
#include "domain/gc_plan.hpp"
#include "util/error.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sandbox::app {

enum class DryRun { no, yes };

struct GcOutcome {
    domain::GcItem item;
    bool done = false;
    std::optional<Error> error; // why it was not done; absent with done false: a dry run, or no longer due
};
struct GcReport {
    bool another_at_work = false; // nothing was done then
    std::vector<GcOutcome> outcomes;
    bool engine_missing = false;       // an engine that should have been looked at did not answer
    std::vector<std::string> warnings; // engines that did not answer, a moved state directory
};

// Goes on when a part fails. Never touches an item whose lock is held or whose age is not known.
GcReport collect_garbage(Context& context, const domain::GcPolicy& policy, DryRun dry_run);

} // namespace sandbox::app
