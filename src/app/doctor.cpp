// SPDX-License-Identifier: Apache-2.0
#include "app/doctor.hpp"

#include "app/doctor_checks.hpp"
#include "util/error.hpp"

#include <algorithm>
#include <array>
#include <exception>

namespace sandbox::app {
namespace {

using namespace doctor;

struct Check {
    const char* section;
    const char* name; // of the finding, should the check itself fail
    Findings (*run)(Examination&);
};

// Later ones use what earlier ones found out.
constexpr std::array k_checks{
    Check{"state", "state_directory", check_state_directory},
    Check{"state", "state_readable", check_state_readable},
    Check{"state", "state_machine", check_state_machine},
    Check{"state", "state_disk", check_state_disk},
    Check{"engine", "engine_reachable", check_engine},
    Check{"engine", "engine_clock", check_clock},
    Check{"engine", "image", check_image},
    Check{"limits", "limits_offered", check_limits},
    Check{"limits", "isolation_offered", check_isolation_offered},
    Check{"trial", "trial_session", check_trial_session},
    Check{"leftovers", "strays", check_strays},
    Check{"leftovers", "foreign_objects", check_foreign_strays},
    Check{"leftovers", "workspaces", check_workspaces},
    Check{"leftovers", "gc_scheduled", check_gc_scheduled},
    Check{"sessions", "session_isolation", check_sessions},
};

Findings failed(const Check& check, const std::string& why, const std::string& fix) {
    return {unknown(check.name, "could not be checked: " + why, fix)};
}

Findings guarded(const Check& check, Examination& examination) {
    try {
        return check.run(examination);
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        return failed(check, error.message(), error.hint());
    } catch (const std::exception& error) {
        return failed(check, error.what(), {});
    }
}

std::vector<Repair> guarded_repair(Context& context, const DoctorOptions& options) {
    try {
        return doctor::repair(context, options);
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        return {{"the state is looked at", false, error.message(), {}}};
    }
}

void add(DoctorReport& report, const char* section, Findings found) {
    for (auto& finding : found) {
        finding.section = section;
        report.findings.push_back(std::move(finding));
    }
}

} // namespace

namespace doctor {

Finding ok(std::string check, std::string what) { return {{}, std::move(check), FindingStatus::ok, std::move(what), {}, {}}; }

Finding warning(std::string check, std::string what, std::string fix) {
    return {{}, std::move(check), FindingStatus::warning, std::move(what), std::move(fix), {}};
}

Finding problem(std::string check, std::string what, std::string fix) {
    return {{}, std::move(check), FindingStatus::problem, std::move(what), std::move(fix), {}};
}

Finding unknown(std::string check, std::string what, std::string fix) {
    return {{}, std::move(check), FindingStatus::unknown, std::move(what), std::move(fix), {}};
}

Findings without_state(const Examination& examination, const char* check) {
    if (!examination.state.exists && examination.state.error.empty()) return {ok(check, "nothing: there is no state yet")};
    return {unknown(check, "not known without a state that can be read")};
}

} // namespace doctor

std::string_view finding_status_name(FindingStatus status) {
    switch (status) {
    case FindingStatus::ok: return "ok";
    case FindingStatus::warning: return "warning";
    case FindingStatus::problem: return "problem";
    case FindingStatus::unknown: return "unknown";
    }
    return "unknown";
}

std::string_view checklist_state_name(ChecklistItem::State state) {
    switch (state) {
    case ChecklistItem::State::done: return "done";
    case ChecklistItem::State::open: return "open";
    case ChecklistItem::State::unknown: return "unknown";
    }
    return "unknown";
}

bool DoctorReport::is_healthy() const {
    const auto is_problem = [](const Finding& finding) { return finding.status == FindingStatus::problem; };
    const auto has_failed = [](const Repair& repair) { return !repair.done; };
    return std::ranges::none_of(findings, is_problem) && std::ranges::none_of(repairs, has_failed);
}

DoctorReport examine(Context& context, const DoctorOptions& options) {
    DoctorReport report;
    if (options.repair) report.repairs = guarded_repair(context, options);
    Examination examination{context, options};
    add(report, "config", options.config);
    for (const auto& check : k_checks) add(report, check.section, guarded(check, examination));
    report.checklist = doctor::checklist(examination, report.findings);
    return report;
}

} // namespace sandbox::app
