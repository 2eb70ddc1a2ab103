// SPDX-License-Identifier: Apache-2.0
// export.files: what `run` and `with` copy out of their session when the work is over, whatever became of it.
//
//   const auto items = domain::exports_of(manifest);
//   check_export_targets(items, roots);              // before anything is made
//   for (const auto& done : export_all(context, row, items, std::nullopt)) ...
#pragma once

#include "app/context.hpp"
#include "app/seeding.hpp"
#include "channel/agent_client.hpp"
#include "domain/manifest.hpp"
#include "util/error.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sandbox::app {

using domain::ExportItem;

// Throws manifest_invalid, usage or an errno error for a target that could not be written: hours of work shall not end there.
void check_export_targets(const std::vector<ExportItem>& items, const HostRoots& roots);

struct Exported {
    ExportItem item;
    channel::TransferStats stats;
    bool is_absent = false;     // an optional one that is not there
    std::optional<Error> error; // the target is as it was
};
// Copies each one by the rules of `cp -L`, the manifest's scan and limits.maxFile included, but for a target that is there: a directory's
// contents are merged into a directory, a file replaces a file. Missing folders above a target are made. Goes on with the rest when one
// fails. INT, TERM, HUP and the end of `within` end it; what is not copied by then has an error.
std::vector<Exported> export_all(Context& context, const state::SessionRow& session, const std::vector<ExportItem>& items,
                                 std::optional<Milliseconds> within);

// All failures as one export_failed error; absent where there are none.
std::optional<Error> export_error(const std::vector<Exported>& exports);

} // namespace sandbox::app
