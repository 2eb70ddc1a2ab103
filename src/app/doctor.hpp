// SPDX-License-Identifier: Apache-2.0
// Looks at everything that sessions depend on and says what it found and what to do about it: each check is a small function
// that gives findings, and one that fails is a finding itself.
//
//   const DoctorReport report = examine(context, options);
//   if (!report.is_healthy()) return 1;
#pragma once

#include "app/context.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::app {

enum class FindingStatus { ok, warning, problem, unknown };
std::string_view finding_status_name(FindingStatus status);

struct Finding {
    std::string section; // filled in by examine(): "engine", "limits", "state", ...
    std::string check;   // stable: "engine_reachable"
    FindingStatus status = FindingStatus::ok;
    std::string what; // one sentence without a full stop
    std::string fix;  // a command or a sentence; empty where there is nothing to do
    std::vector<std::string> details;
};
using Findings = std::vector<Finding>;

// One line of the production checklist.
struct ChecklistItem {
    enum class State { done, open, unknown };
    std::string item; // stable: "gc_scheduled"
    State state = State::unknown;
    std::string text;  // what should be so
    std::string found; // what was seen; may be empty
};
std::string_view checklist_state_name(ChecklistItem::State state);

// What --repair did, or could not do.
struct Repair {
    std::string what;
    bool done = false;
    std::string error;   // empty when done
    std::string warning; // what was lost all the same; mostly empty
};

struct DoctorOptions {
    std::optional<std::string> image; // for the throw-away session; asked for by name: a missing one is a problem
    std::vector<std::string> default_images; // else the first of these that is there
    bool quick = false;               // no throw-away session, and no look inside of running ones
    bool repair = false;
    std::optional<std::string> instance; // with repair: what has this id in its labels lost its state, and is this one's now
    Findings config;                  // what the config files are like; read by the caller
    bool has_ceilings = false;        // one bounds sessions, or what one may take
    bool network_is_capped = false;   // no session gets a network
};

struct DoctorReport {
    std::vector<Repair> repairs;
    Findings findings;
    std::vector<ChecklistItem> checklist;
    bool is_healthy() const; // no problem; warnings and unknowns allowed
};

// Changes nothing without `repair`, but for the throw-away session, which leaves nothing. Throws only interrupted, after cleaning up.
DoctorReport examine(Context& context, const DoctorOptions& options);

} // namespace sandbox::app
