// SPDX-License-Identifier: Apache-2.0
// What crontabs, cron's scripts and systemd units run: each command with the user and the state directory that hold for that very
// line. Read as cron(8), sh(1) and systemd.service(5) do, and nothing is expanded: what names "$HOME" names an unknown place.
//
//   for (const auto& command : scheduled_commands(text, ScheduleFile::system_crontab, "root")) if (cleans(command)) ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::app::doctor {

enum class ScheduleFile { system_crontab, user_crontab, script, unit };

struct ScheduledCommand {
    enum class Kind { gc, prune } kind = Kind::gc;
    std::string user;
    std::string state_directory; // of gc; empty: the user's own
};

// Those that run `sandbox gc`, and those that take volumes as `docker volume prune` does. `user` is who runs what names no other.
std::vector<ScheduledCommand> scheduled_commands(std::string_view text, ScheduleFile kind, const std::string& user);

// A command as it has to stand in a crontab, where a percent sign ends the line.
std::string crontab_command(const std::vector<std::string>& words);

} // namespace sandbox::app::doctor
