// SPDX-License-Identifier: Apache-2.0
// What a production machine of this field wants to have, beyond what can be wrong with it.
#include "app/doctor_checks.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cstdio>
#include <sys/statvfs.h>
#include <sys/timex.h>

namespace sandbox::app::doctor {
namespace {

using State = ChecklistItem::State;

State state_of(const std::optional<bool>& known) { return !known ? State::unknown : *known ? State::done : State::open; }

const Finding* find(const Findings& findings, std::string_view check) {
    const auto found = std::ranges::find(findings, check, &Finding::check);
    return found == findings.end() ? nullptr : &*found;
}

// From a finding: ok is done, a warning or a problem is open.
ChecklistItem from(const Findings& findings, const char* check, const char* item, const char* text) {
    const auto* finding = find(findings, check);
    if (finding == nullptr || finding->status == FindingStatus::unknown) return {item, State::unknown, text, finding ? finding->what : ""};
    return {item, finding->status == FindingStatus::ok ? State::done : State::open, text, finding->what};
}

ChecklistItem hostile_code(const Examination& examination) {
    ChecklistItem item{"hostile_code", State::unknown, "hostile code runs behind rootless, userns-remap, gVisor or Kata", {}};
    if (!examination.info) return item;
    const auto& info = *examination.info;
    const bool remapped = info.rootless || std::ranges::any_of(info.security_options, [](const auto& one) { return one.starts_with("name=userns"); });
    const auto runtime = std::ranges::find_if(info.runtimes, [](const auto& one) { return one.starts_with("runsc") || one.starts_with("kata"); });
    item.state = remapped || runtime != info.runtimes.end() ? State::done : State::open;
    item.found = info.rootless ? "rootless" : remapped ? "userns-remap" : runtime != info.runtimes.end() ? "runtime " + *runtime + ": name it in security.runtime" : "root in a session is root of the kernel";
    return item;
}

ChecklistItem engine_disk(const Examination& examination) {
    ChecklistItem item{"engine_disk", State::unknown, "an alert on the engine's disk; volumes have no quota", {}};
    struct statvfs info{};
    if (!examination.info || !examination.engine_is_local || examination.info->root_directory.empty()) return item;
    if (::statvfs(examination.info->root_directory.c_str(), &info) != 0 || info.f_blocks == 0) return item;
    const auto percent = info.f_bavail * 100 / info.f_blocks;
    item.found = std::to_string(percent) + "% of " + examination.info->root_directory + " free now";
    if (percent < 15) item.state = State::open;
    return item;
}

std::string daemon_config() {
    try {
        return read_file("/etc/docker/daemon.json", 1 << 20).value_or("");
    } catch (const Error&) {
        return {};
    }
}

ChecklistItem log_limits(const Examination& examination) {
    ChecklistItem item{"log_limits", State::unknown, "other containers' logs are bounded (sessions have none)", {}};
    if (!examination.info || examination.info->log_driver.empty()) return item;
    const std::string& driver = examination.info->log_driver;
    item.found = "default log driver " + driver;
    if (driver != "json-file" && driver != "k8s-file") item.state = State::done;
    else if (examination.engine_is_local) item.state = daemon_config().find("max-size") != std::string::npos ? State::done : State::open;
    if (item.state == State::open) item.found += ": set log-opts max-size";
    return item;
}

ChecklistItem time_sync(const Examination& examination) {
    ChecklistItem item{"time_sync", State::unknown, "clocks of this machine and the engine's are synchronised", {}};
    struct timex now{};
    if (::adjtimex(&now) < 0) return item;
    const bool synchronised = (now.status & STA_UNSYNC) == 0;
    item.found = synchronised ? "the kernel's clock is kept" : "the kernel says that nobody keeps its clock";
    item.state = state_of(synchronised && examination.clock_agrees.value_or(true));
    return item;
}

ChecklistItem live_restore(const Examination& examination) {
    ChecklistItem item{"live_restore", State::unknown, "live-restore is on: sessions outlive an engine restart", {}};
    if (!examination.info) return item;
    item.state = state_of(examination.info->live_restore);
    if (item.state == State::open) item.found = "\"live-restore\": true in daemon.json";
    return item;
}

ChecklistItem backups(const Examination& examination) {
    ChecklistItem item{"backups", State::unknown, "retained workspaces are backed up", {}};
    if (examination.store == nullptr) return item;
    try {
        const auto count = examination.store->list_workspaces(std::nullopt).size();
        item.found = counted(count, "retained workspace");
        if (count == 0) item.state = State::done;
    } catch (const Error&) {
        // A finding of its own says what is wrong with the state.
    }
    return item;
}

ChecklistItem limits_enforced(const Examination& examination) {
    return {"limits_enforced", state_of(examination.limits_hold), "memory, CPU and pids limits hold, seen from inside", examination.limits_hold ? "" : "no session was tried"};
}

} // namespace

std::vector<ChecklistItem> checklist(const Examination& examination, const Findings& findings) {
    const auto& options = examination.options;
    return {
        from(findings, "gc_scheduled", "gc_scheduled", "`sandbox gc` runs from cron or a timer"),
        {"ceilings", state_of(options.has_ceilings), "ceilings bound sessions, memory and TTL", options.has_ceilings ? "" : "`ceilings:` in /etc/sandbox/config.yaml"},
        limits_enforced(examination),
        from(findings, "prune_scheduled", "volume_prune", "no cron job runs `docker volume prune` unfiltered"),
        engine_disk(examination),
        hostile_code(examination),
        from(findings, "engine_seccomp", "seccomp", "the default seccomp profile is not unconfined"),
        {"egress", options.network_is_capped ? State::done : State::unknown, "bridged sessions can't reach 169.254.169.254 or your network", options.network_is_capped ? "a ceiling keeps the network none" : "a firewall's work (DOCKER-USER)"},
        log_limits(examination),
        live_restore(examination),
        time_sync(examination),
        from(findings, "engine_access", "engine_access", "engine access is for those who may be root"),
        from(findings, "state_file_system", "state_disk", "the state is on a local disk"),
        backups(examination),
    };
}

} // namespace sandbox::app::doctor
