// SPDX-License-Identifier: Apache-2.0
// The checks of doctor, a file for each family, and what they share. Private to doctor*.cpp.
//
//   for (const auto& check : k_checks) add(check.section, guarded(check.run, examination));
#pragma once

#include "app/doctor.hpp"
#include "app/isolation.hpp"
#include "domain/gc_plan.hpp"
#include "state/diagnosis.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sandbox::app::doctor {

// What was found so far: a check that needs what an earlier one could not get is left out.
struct Examination {
    Context& context;
    const DoctorOptions& options;
    state::Diagnosis state{};
    const state::Store* store = nullptr;    // null: there is no state, or none that can be read as it is
    engine::Client* engine = nullptr;       // null: it did not answer
    std::optional<engine::EngineInfo> info{};
    std::int64_t asked_ms = 0;              // wall clock around the question for `info`
    std::int64_t answered_ms = 0;
    bool engine_is_local = false;           // on this machine, by its address
    std::optional<bool> limits_hold{};      // seen from inside a session
    std::optional<bool> clock_agrees{};
};

Finding ok(std::string check, std::string what);
Finding warning(std::string check, std::string what, std::string fix);
Finding problem(std::string check, std::string what, std::string fix);
Finding unknown(std::string check, std::string what, std::string fix = {});
// What a check says that needs the state and has none.
Findings without_state(const Examination& examination, const char* check);

// In the order in which they run.
Findings check_state_directory(Examination& examination);
Findings check_state_readable(Examination& examination);
Findings check_state_machine(Examination& examination);
Findings check_state_disk(Examination& examination);
Findings check_engine(Examination& examination);
Findings check_clock(Examination& examination);
Findings check_limits(Examination& examination);
Findings check_isolation_offered(Examination& examination);
Findings check_image(Examination& examination);
Findings check_trial_session(Examination& examination);
Findings check_strays(Examination& examination);
Findings check_foreign_strays(Examination& examination);
Findings check_workspaces(Examination& examination);
Findings check_sessions(Examination& examination);
Findings check_gc_scheduled(Examination& examination);

std::vector<ChecklistItem> checklist(const Examination& examination, const Findings& findings);

// Who runs `sandbox gc` regularly, and who prunes volumes, by the crontabs and systemd timers below `root` ("" is the machine).
struct StatePlace {
    std::string directory;
    bool is_default = true; // its user's gc finds it without being told
    std::string user = "root";
};
struct Schedules {
    std::vector<std::string> gc;    // files that clean this state
    std::vector<std::string> gc_elsewhere; // files that clean another one
    std::vector<std::string> prune; // files with `docker volume prune` or `docker system prune`
    bool saw_all = true;            // false: something could not be read
};
Schedules find_schedules(const std::string& root, const std::string& home, const StatePlace& state);

std::vector<Repair> repair(Context& context, const DoctorOptions& options);

} // namespace sandbox::app::doctor
