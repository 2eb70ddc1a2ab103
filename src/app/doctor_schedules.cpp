// SPDX-License-Identifier: Apache-2.0
#include "app/doctor_checks.hpp"
#include "app/schedule.hpp"
#include "state/store.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/shell.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <unistd.h>

namespace sandbox::app::doctor {
namespace {

constexpr std::size_t k_longest = 1 << 20;
constexpr const char* k_root = "root";

class Search {
  public:
    explicit Search(const StatePlace& state) : m_state(state) {}

    // `user` is who runs what names nobody else.
    void look_at(const std::string& path, ScheduleFile kind, const std::string& user) {
        if (!m_seen.insert(path).second) return;
        std::optional<std::string> text;
        try {
            text = read_file(path, k_longest);
        } catch (const Error&) {
            m_found.saw_all = false;
        }
        if (!text) return;
        const auto commands = scheduled_commands(*text, kind, user);
        using Kind = ScheduledCommand::Kind;
        const auto is_gc = [](const ScheduledCommand& command) { return command.kind == Kind::gc; };
        const auto is_ours = [&](const ScheduledCommand& command) { return is_gc(command) && cleans_ours(command); };
        if (std::ranges::any_of(commands, is_ours)) m_found.gc.push_back(path);
        else if (std::ranges::any_of(commands, is_gc)) m_found.gc_elsewhere.push_back(path);
        if (std::ranges::any_of(commands, [](const auto& command) { return command.kind == Kind::prune; })) m_found.prune.push_back(path);
    }

    void look_into(const std::string& directory, ScheduleFile kind, const std::string& user) {
        for (const auto& path : entries(directory)) look_at(path, kind, user);
    }

    // Each file is the crontab of the user whose name it has.
    void look_into_spool(const std::string& directory) {
        for (const auto& path : entries(directory)) look_at(path, ScheduleFile::user_crontab, std::filesystem::path(path).filename().string());
    }

    // Timers that are enabled have a link in here; the unit that one starts has its name where it says no other.
    void look_at_timers(const std::string& wants, const std::vector<std::string>& units, const std::string& user) {
        for (const auto& link : entries(wants)) {
            const std::string timer = std::filesystem::path(link).filename().string();
            if (!timer.ends_with(".timer")) continue;
            for (const auto& directory : units) look_at(directory + "/" + service_of(directory + "/" + timer, timer), ScheduleFile::unit, user);
        }
    }

    Schedules take() { return std::move(m_found); }

  private:
    // By the user as well: another one's standard place is another, and ours is closed to it.
    bool cleans_ours(const ScheduledCommand& command) const {
        if (command.user != m_state.user) return false;
        return command.state_directory.empty() ? m_state.is_default : is_same_directory(command.state_directory, m_state.directory);
    }

    static bool is_same_directory(const std::string& a, const std::string& b) {
        return (std::filesystem::path(a) / "").lexically_normal() == (std::filesystem::path(b) / "").lexically_normal();
    }

    std::vector<std::string> entries(const std::string& directory) {
        std::vector<std::string> paths;
        std::error_code failure;
        for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
            std::error_code ignored;
            if (!entry.is_directory(ignored)) paths.push_back(entry.path().string());
        }
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

std::string user_name() {
    constexpr const char* k_users = "/etc/passwd";
    const std::string uid = std::to_string(::geteuid());
    try {
        // Read by hand: in a static program there is no getpwuid().
        for (const auto& line : split(read_file(k_users, k_longest).value_or(""), '\n')) {
            const auto fields = split(line, ':');
            if (fields.size() > 2 && fields[2] == uid) return fields.front();
        }
    } catch (const Error&) {
        // Then by its number.
    }
    return uid; // which crontabs take as well
}

// Cron's PATH has neither /usr/local/bin nor what this shell has.
std::string cron_fix(const StatePlace& state) {
    std::error_code failure;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
    std::vector<std::string> words{failure ? std::string("sandbox") : self.string()};
    if (!state.is_default) words.insert(words.end(), {"--state-dir", state.directory});
    words.emplace_back("gc");
    const std::string line = "*/10 * * * * " + std::string(::geteuid() == 0 ? "root " : "") + crontab_command(words);
    // Not echo: it reads a backslash as something else in some shells.
    const std::string print = "printf '%s\\n' " + shell_quoted(line);
    if (::geteuid() == 0) return print + " >/etc/cron.d/sandbox-gc";
    return "(crontab -l; " + print + ") | crontab -";
}

} // namespace

Schedules find_schedules(const std::string& root, const std::string& home, const StatePlace& state) {
    Search search(state);
    search.look_at(root + "/etc/crontab", ScheduleFile::system_crontab, k_root);
    search.look_into(root + "/etc/cron.d", ScheduleFile::system_crontab, k_root);
    for (const char* period : {"hourly", "daily", "weekly"}) search.look_into(root + "/etc/cron." + period, ScheduleFile::script, k_root);
    for (const char* spool : {"/var/spool/cron/crontabs", "/var/spool/cron"}) search.look_into_spool(root + spool);
    const std::string system = root + "/etc/systemd/system";
    search.look_at_timers(system + "/timers.target.wants", {system, root + "/usr/local/lib/systemd/system", root + "/usr/lib/systemd/system", root + "/lib/systemd/system"}, k_root);
    if (!home.empty()) {
        search.look_at_timers(home + "/.config/systemd/user/timers.target.wants", {home + "/.config/systemd/user", root + "/usr/lib/systemd/user"}, state.user);
    }
    return search.take();
}

Findings check_gc_scheduled(Examination& examination) {
    constexpr const char* k_check = "gc_scheduled";
    const char* home = std::getenv("HOME");
    const std::string directory = examination.context.state_directory();
    const StatePlace state{directory, directory == state::standard_state_directory(), user_name()};
    const auto found = find_schedules("", home == nullptr ? "" : home, state);
    Findings findings;
    if (!found.gc.empty()) {
        findings.push_back(ok(k_check, "gc is run by " + found.gc.front()));
        findings.back().details = found.gc;
    } else {
        std::string what = found.saw_all ? "no crontab and no timer runs gc" : "no crontab or timer that this user may read runs gc";
        if (!found.gc_elsewhere.empty()) what = "gc is run by " + found.gc_elsewhere.front() + ", and not for " + sandbox::quoted(directory) + " of user " + state.user;
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
