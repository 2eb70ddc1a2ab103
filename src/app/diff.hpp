// SPDX-License-Identifier: Apache-2.0
// What changed in a session's workspace since the session was made.
//
//   diff(context, "job-981", {.paths = {"src"}}, [](const domain::Change& change) { ... });
#pragma once

#include "app/context.hpp"
#include "domain/changes.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::app {

struct DiffOptions {
    std::vector<std::string> paths; // absolute ones in the workdir, or relative to it; none: all of it
    bool repositories = false;      // what is in .git as well
    bool contents = false;          // the texts, for a patch
};
// Calls `each` in the order of the paths' bytes. Looking: never counts as activity. With contents, export.scan sees each before `each`
// does, limits.maxFile holds, and an event tells of it. Throws failed where no baseline was kept, not_found for a path that is in neither
// state, usage for one outside the workspace.
void diff(Context& context, std::string_view session, const DiffOptions& options, const std::function<void(const domain::Change&)>& each);

} // namespace sandbox::app
