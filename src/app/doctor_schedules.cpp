// SPDX-License-Identifier: Apache-2.0
#include "app/doctor_checks.hpp"
#include "state/store.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <unistd.h>

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
    explicit Search(const StatePlace& state) : m_state(state) {}

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
        if (runs(*text, {"sandbox", " gc"})) (cleans_ours(*text) ? m_found.gc : m_found.gc_elsewhere).push_back(path);
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
    bool cleans_ours(const std::string& text) const {
        if (text.find(m_state.directory) != std::string::npos) return true;
        return m_state.is_default && text.find("--state-dir") == std::string::npos && text.find("SANDBOX_STATE_DIR") == std::string::npos;
    }

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

    const StatePlace& m_state;
    Schedules m_found;
    std::set<std::string> m_seen;
};

// Cron's PATH has neither /usr/local/bin nor what this shell has.
std::string cron_fix(const StatePlace& state) {
    std::error_code failure;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
    const std::string command = (failure ? std::string("sandbox") : self.string()) + (state.is_default ? "" : " --state-dir " + state.directory) + " gc";
    if (::geteuid() == 0) return "echo '*/10 * * * * root " + command + "' >/etc/cron.d/sandbox-gc";
    return "(crontab -l; echo '*/10 * * * * " + command + "') | crontab -";
}

} // namespace

Schedules find_schedules(const std::string& root, const std::string& home, const StatePlace& state) {
    Search search(state);
    search.look_at(root + "/etc/crontab");
    for (const char* directory : {"/etc/cron.d", "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/var/spool/cron/crontabs", "/var/spool/cron"}) {
        search.look_into(root + directory);
    }
    const std::string system = root + "/etc/systemd/system";
    search.look_at_timers(system + "/timers.target.wants", {system, root + "/usr/local/lib/systemd/system", root + "/usr/lib/systemd/system", root + "/lib/systemd/system"});
    if (!home.empty()) search.look_at_timers(home + "/.config/systemd/user/timers.target.wants", {home + "/.config/systemd/user", root + "/usr/lib/systemd/user"});
    return search.take();
}

Findings check_gc_scheduled(Examination& examination) {
    constexpr const char* k_check = "gc_scheduled";
    const char* home = std::getenv("HOME");
    const std::string directory = examination.context.state_directory();
    const StatePlace state{directory, directory == state::standard_state_directory()};
    const auto found = find_schedules("", home == nullptr ? "" : home, state);
    Findings findings;
    if (!found.gc.empty()) {
        findings.push_back(ok(k_check, "gc is run by " + found.gc.front()));
        findings.back().details = found.gc;
    } else {
        std::string what = found.saw_all ? "no crontab and no timer runs gc" : "no crontab or timer that this user may read runs gc";
        if (!found.gc_elsewhere.empty()) what = "gc is run by " + found.gc_elsewhere.front() + ", and not for " + sandbox::quoted(directory);
        findings.push_back(warning(k_check, what, cron_fix(state)));
        findings.back().details = found.gc_elsewhere;
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
