// SPDX-License-Identifier: Apache-2.0
#include "app/doctor_checks.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace sandbox::app::doctor {
namespace {

constexpr std::size_t k_longest = 1 << 20;

// Whether a line (or a unit's) that is no comment has all the words one after the other.
bool runs(const std::string& text, std::initializer_list<std::string_view> words) {
    for (const auto& line : split(text, '\n')) {
        const auto start = line.find_first_not_of(" \t");
        if (start == std::string::npos || line[start] == '#' || line[start] == ';') continue;
        std::size_t at = start;
        bool has_all = true;
        for (const auto word : words) {
            at = line.find(word, at);
            has_all = has_all && at != std::string::npos;
            if (!has_all) break;
            at += word.size();
        }
        if (has_all) return true;
    }
    return false;
}

class Search {
  public:
    // A crontab, or a unit that a timer starts.
    void look_at(const std::string& path) {
        if (!m_seen.insert(path).second) return;
        std::optional<std::string> text;
        try {
            text = read_file(path, k_longest);
        } catch (const Error&) {
            m_found.saw_all = false;
        }
        if (!text) return;
        if (runs(*text, {"sandbox", " gc"})) m_found.gc.push_back(path);
        if (runs(*text, {"docker", " volume", " prune"}) || runs(*text, {"docker", " system", " prune"})) m_found.prune.push_back(path);
    }

    void look_into(const std::string& directory) {
        for (const auto& path : entries(directory)) look_at(path);
    }

    // Timers that are enabled have a link in here; the unit that one starts has its name where it says no other.
    void look_at_timers(const std::string& wants, const std::vector<std::string>& units) {
        for (const auto& link : entries(wants)) {
            const std::string timer = std::filesystem::path(link).filename().string();
            if (!timer.ends_with(".timer")) continue;
            for (const auto& directory : units) look_at(directory + "/" + service_of(directory + "/" + timer, timer));
        }
    }

    Schedules take() { return std::move(m_found); }

  private:
    std::vector<std::string> entries(const std::string& directory) {
        std::vector<std::string> paths;
        std::error_code failure;
        for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) paths.push_back(entry.path().string());
        if (failure && failure.value() != ENOENT && failure.value() != ENOTDIR) m_found.saw_all = false;
        return paths;
    }

    static std::string service_of(const std::string& timer_file, const std::string& timer) {
        const std::string same = timer.substr(0, timer.size() - std::string_view(".timer").size()) + ".service";
        try {
            const auto text = read_file(timer_file, k_longest);
            if (!text) return same;
            for (const auto& line : split(*text, '\n')) {
                if (line.starts_with("Unit=")) return std::filesystem::path(line.substr(5)).filename().string();
            }
        } catch (const Error&) {
            // Then the name alone tells.
        }
        return same;
    }

    Schedules m_found;
    std::set<std::string> m_seen;
};

} // namespace

Schedules find_schedules(const std::string& root, const std::string& home) {
    Search search;
    search.look_at(root + "/etc/crontab");
    for (const char* directory : {"/etc/cron.d", "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/var/spool/cron/crontabs", "/var/spool/cron"}) {
        search.look_into(root + directory);
    }
    const std::string system = root + "/etc/systemd/system";
    search.look_at_timers(system + "/timers.target.wants", {system, root + "/usr/local/lib/systemd/system", root + "/usr/lib/systemd/system", root + "/lib/systemd/system"});
    if (!home.empty()) search.look_at_timers(home + "/.config/systemd/user/timers.target.wants", {home + "/.config/systemd/user", root + "/usr/lib/systemd/user"});
    return search.take();
}

Findings check_gc_scheduled(Examination&) {
    constexpr const char* k_check = "gc_scheduled";
    const char* home = std::getenv("HOME");
    const auto found = find_schedules("", home == nullptr ? "" : home);
    Findings findings;
    if (!found.gc.empty()) {
        findings.push_back(ok(k_check, "gc is run by " + found.gc.front()));
        findings.back().details = found.gc;
    } else {
        const std::string what = found.saw_all ? "no crontab and no timer runs gc" : "no crontab or timer that this user may read runs gc";
        findings.push_back(warning(k_check, what, "echo '*/10 * * * * root sandbox gc' >/etc/cron.d/sandbox-gc"));
    }
    if (found.prune.empty()) {
        findings.push_back(found.saw_all ? ok("prune_scheduled", "no crontab and no timer prunes volumes")
                                         : unknown("prune_scheduled", "no crontab or timer that this user may read prunes volumes"));
    } else {
        findings.push_back(warning("prune_scheduled", "volumes are pruned by " + found.prune.front() + ": that takes retained workspaces",
                                   "docker volume prune --filter label!=sandbox.workspace"));
        findings.back().details = found.prune;
    }
    return findings;
}

} // namespace sandbox::app::doctor
