// SPDX-License-Identifier: Apache-2.0
#include "app/doctor_checks.hpp"
#include "app/gc_facts.hpp"
#include "app/sessions.hpp"
#include "app/workspaces.hpp"
#include "domain/gc_plan.hpp"
#include "domain/labels.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace sandbox::app::doctor {
namespace {

constexpr std::size_t k_most_named = 20;

using domain::label;

void name_some(Finding& finding, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < std::min(names.size(), k_most_named); ++i) finding.details.push_back(names[i]);
    if (names.size() > k_most_named) finding.details.push_back("and " + std::to_string(names.size() - k_most_named) + " more");
}

// "2 expired, 1 orphan"
std::string counts_text(const std::map<std::string, std::size_t>& counts) {
    std::vector<std::string> parts;
    for (const auto& [why, count] : counts) parts.push_back(std::to_string(count) + " " + why);
    return join(parts, ", ");
}

bool lives(const engine::ContainerInfo& container) { return container.running || container.paused; }

// One that the engine cannot tell of is none that repair could bring back.
bool is_kept(engine::Client& engine, const engine::ContainerInfo& listed) {
    try {
        const auto container = engine.inspect_container(listed.id);
        return container && is_kept_stopped(*container);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::engine_unreachable || error.signal() != 0) throw;
        return false;
    }
}

// Containers that run or are kept stopped, and persistent workspaces, with our label and no row: what a lost state.db leaves.
void check_lost_rows(Examination& examination, Findings& findings) {
    if (examination.engine == nullptr) return;
    engine::Filter filter;
    filter.labels = {{domain::k_label_instance, examination.store->instance()}};
    std::vector<std::string> lost;
    for (const auto& container : examination.engine->list_containers(filter)) {
        const std::string session = label(container.labels, domain::k_label_session);
        const bool is_session = label(container.labels, domain::k_label_role) == domain::k_role_session;
        if (!is_session || session.empty() || examination.store->find(session)) continue;
        if (lives(container) || is_kept(*examination.engine, container)) lost.push_back("session " + printable(session));
    }
    for (const auto& volume : examination.engine->list_volumes(filter)) {
        const std::string id = label(volume.labels, domain::k_label_workspace);
        if (!id.empty() && !examination.store->find_workspace(label(volume.labels, domain::k_label_owner), id)) lost.push_back("workspace " + printable(id));
    }
    if (lost.empty()) return;
    findings.push_back(problem("lost_rows", counted(lost.size(), "session or workspace") + " on the engine that the state does not know", "sandbox doctor --repair rebuilds their rows from their labels"));
    name_some(findings.back(), lost);
}

// Objects of one other instance.
struct Foreign {
    std::size_t alive = 0;
    std::size_t kept = 0; // persistent workspaces
    std::vector<std::string> dead;
};

std::map<std::string, Foreign> foreign_objects(engine::Client& engine, const std::string& own) {
    engine::Filter filter;
    filter.labels = {{domain::k_label_instance, ""}};
    std::map<std::string, Foreign> found;
    std::set<std::string> mounted;
    for (const auto& container : engine.list_containers(filter)) {
        for (const auto& mount : container.mounts) mounted.insert(mount.name);
        const std::string instance = label(container.labels, domain::k_label_instance);
        if (instance == own) continue;
        auto& foreign = found[instance];
        if (lives(container)) ++foreign.alive;
        else foreign.dead.push_back("container " + printable(container.name));
    }
    for (const auto& volume : engine.list_volumes(filter)) {
        const std::string instance = label(volume.labels, domain::k_label_instance);
        if (instance == own || label(volume.labels, domain::k_label_role) != domain::k_role_workspace) continue;
        if (!label(volume.labels, domain::k_label_workspace).empty()) ++found[instance].kept;
        else if (!mounted.contains(volume.name)) found[instance].dead.push_back("volume " + printable(volume.name));
    }
    return found;
}

} // namespace

Findings check_strays(Examination& examination) {
    constexpr const char* k_check = "strays";
    if (examination.store == nullptr) return without_state(examination, k_check);
    std::vector<std::string> unreachable;
    const auto plan = domain::plan_gc(gather_gc_facts(examination.context, unreachable), {});
    std::map<std::string, std::size_t> counts;
    std::vector<std::string> items;
    for (const auto& item : plan) {
        ++counts[std::string(domain::gc_why_name(item.why))];
        items.push_back(std::string(domain::gc_action_name(item.action)) + " " + printable(item.id) + " (" + std::string(domain::gc_why_name(item.why)) + ")");
    }
    Findings findings;
    if (plan.empty()) findings.push_back(ok(k_check, "gc would take nothing"));
    else findings.push_back(warning(k_check, "gc would take " + counted(plan.size(), "thing") + ": " + counts_text(counts), "sandbox gc"));
    name_some(findings.back(), items);
    // The engine of new sessions has a finding of its own when it does not answer.
    if (examination.engine != nullptr && !unreachable.empty()) {
        findings.push_back(warning("row_engines", counted(unreachable.size(), "engine") + " that made sessions or workspaces cannot be asked: those are left alone", "start them again, or sandbox ps --all-owners to see whose they are"));
        name_some(findings.back(), unreachable);
    }
    check_lost_rows(examination, findings);
    return findings;
}

Findings check_foreign_strays(Examination& examination) {
    constexpr const char* k_check = "foreign_objects";
    if (examination.engine == nullptr) return {};
    const std::string own = examination.state.has_identity ? examination.state.instance : std::string();
    const auto found = foreign_objects(*examination.engine, own);
    if (found.empty()) return {ok(k_check, "no other instance uses this engine")};
    std::size_t alive = 0;
    std::vector<std::string> dead;
    std::vector<std::string> instances;
    for (const auto& [instance, foreign] : found) {
        alive += foreign.alive;
        instances.push_back("instance " + printable(instance) + ": " + counted(foreign.alive, "session") + " alive, " + counted(foreign.kept, "retained workspace"));
        for (const auto& name : foreign.dead) dead.push_back(name + " of instance " + printable(instance));
    }
    const std::string who = counted(found.size(), "other instance") + " on this engine";
    if (dead.empty()) {
        Findings findings{ok(k_check, who + ", " + counted(alive, "session") + " alive, nothing left behind")};
        name_some(findings.back(), instances);
        return findings;
    }
    Findings findings{warning(k_check, who + ": " + counted(dead.size(), "object") + " left behind", "run sandbox gc with the --state-dir that made them; where that was lost, sandbox doctor --repair --instance ID")};
    dead.insert(dead.begin(), instances.begin(), instances.end());
    name_some(findings.back(), dead);
    return findings;
}

Findings check_workspaces(Examination& examination) {
    constexpr const char* k_check = "workspaces";
    if (examination.store == nullptr || examination.store->list_workspaces(std::nullopt).empty()) return {};
    std::vector<std::string> at_risk;
    std::vector<std::string> missing;
    std::size_t unknown_count = 0;
    const auto all = list_workspaces(examination.context, std::nullopt, {});
    for (const auto& view : all) {
        const std::string name = printable(view.row.id) + " of " + printable(view.row.owner);
        if (!view.exists) ++unknown_count;
        else if (!*view.exists && view.row.confirmed) missing.push_back(name);
        else if (view.sessions.empty()) at_risk.push_back(name);
    }
    Findings findings;
    if (!missing.empty()) {
        findings.push_back(problem("workspaces_missing", counted(missing.size(), "retained workspace") + " without a volume: something removed it", "sandbox workspace rm ID forgets it; restore its data from a backup"));
        name_some(findings.back(), missing);
    }
    if (!at_risk.empty()) {
        findings.push_back(warning(k_check, counted(at_risk.size(), "retained workspace") + " that nothing mounts: `docker volume prune` would take it", "docker volume prune --filter label!=sandbox.workspace; sandbox workspace rm for those that nobody needs"));
        name_some(findings.back(), at_risk);
    } else if (unknown_count == 0) {
        findings.push_back(ok(k_check, counted(all.size(), "retained workspace") + ", none at risk of docker volume prune"));
    }
    if (unknown_count > 0) findings.push_back(unknown("workspaces_unknown", counted(unknown_count, "workspace") + " on engines that do not answer"));
    return findings;
}

} // namespace sandbox::app::doctor
