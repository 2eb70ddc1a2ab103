// SPDX-License-Identifier: Apache-2.0
#include "app/doctor_checks.hpp"
#include "app/schedule.hpp"

#include "util/fd.hpp"
#include "util/fs.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <string>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::app;

namespace {

struct Machine {
    TempDir directory;

    void write(const std::string& path, const std::string& text) const {
        const std::string whole = directory.path() + path;
        make_directories(whole.substr(0, whole.rfind('/')), 0755);
        AtomicFile file(AT_FDCWD, whole, 0644);
        write_all(file.fd(), text);
        file.publish();
    }
    void enable(const std::string& timer) const {
        make_directories(directory.path() + "/etc/systemd/system/timers.target.wants", 0755);
        REQUIRE(::symlink(("../" + timer).c_str(), (directory.path() + "/etc/systemd/system/timers.target.wants/" + timer).c_str()) == 0);
    }
    doctor::Schedules look(const doctor::StatePlace& state = {"/var/lib/sandbox", true}) const { return doctor::find_schedules(directory.path(), "", state); }
};

} // namespace

TEST_CASE("an empty machine schedules nothing, and all of it was seen") {
    const auto found = Machine().look();
    CHECK(found.gc.empty());
    CHECK(found.prune.empty());
    CHECK(found.saw_all);
}

TEST_CASE("crontabs: lines, not comments") {
    const Machine machine;
    machine.write("/etc/crontab", "# 0 * * * * root sandbox gc\n  ; sandbox gc\n");
    CHECK(machine.look().gc.empty());
    machine.write("/etc/cron.d/a", "*/10 * * * * root /usr/local/bin/sandbox --quiet gc\n");
    CHECK(machine.look().gc.size() == 1);
    machine.write("/etc/cron.d/b", "0 4 * * * root docker system prune -af --volumes\n");
    CHECK(machine.look().prune.size() == 1);
}

TEST_CASE("a schedule is for the state that it names") {
    const Machine machine;
    machine.write("/etc/cron.d/a", "*/10 * * * * root sandbox gc\n");
    CHECK(machine.look({"/srv/state", false}).gc.empty());
    CHECK(machine.look({"/srv/state", false}).gc_elsewhere.size() == 1);
    machine.write("/etc/cron.d/a", "*/10 * * * * root sandbox --state-dir /srv/state gc\n");
    CHECK(machine.look({"/srv/state", false}).gc.size() == 1);
    CHECK(machine.look({"/srv/stat", false}).gc.empty());
    CHECK(machine.look().gc.empty());
}

TEST_CASE("a schedule counts by its own line, state and user") {
    const doctor::StatePlace of_ci{"/home/ci/.local/state/sandbox", true, "ci"};
    const auto counts = [](const std::string& path, const std::string& text, const doctor::StatePlace& state) {
        const Machine machine;
        machine.write(path, text);
        return machine.look(state).gc.size();
    };
    CHECK(counts("/etc/cron.d/a", "*/10 * * * * ci sandbox gc\n", of_ci) == 1);
    CHECK(counts("/etc/cron.d/a", "@hourly root sandbox gc\n", of_ci) == 0);
    CHECK(counts("/etc/cron.d/a", "*/10 * * * * ci sandbox gc\n", {}) == 0);
    // Two lines of one file: what one says of its state is not said of the other.
    CHECK(counts("/etc/cron.d/a", "0 * * * * root sandbox --state-dir /srv/a gc\n5 * * * * root sandbox gc\n", {"/var/lib/sandbox"}) == 1);
    CHECK(counts("/etc/cron.d/a", "0 * * * * root sandbox --state-dir /srv/a ps\n5 * * * * root sandbox gc\n", {"/srv/a", false}) == 0);
    CHECK(counts("/etc/cron.d/a", "SANDBOX_STATE_DIR=/srv/a\n0 * * * * root sandbox gc\n", {"/srv/a/", false}) == 1);
    CHECK(counts("/etc/cron.d/a", "0 * * * * root SANDBOX_STATE_DIR='/srv/my a' sandbox gc >/dev/null 2>&1\n", {"/srv/my a", false}) == 1);
    CHECK(counts("/etc/cron.d/a", "0 * * * * root sudo -u ci sandbox gc\n", of_ci) == 1);
    CHECK(counts("/etc/cron.d/a", "0 * * * * ci sudo sandbox gc\n", of_ci) == 0);
    CHECK(counts("/etc/cron.d/a", "0 * * * * root SANDBOX_STATE_DIR=/srv/a sudo sandbox gc\n", {"/srv/a", false}) == 0);
    CHECK(counts("/etc/cron.d/a", "0 * * * * root su ci -c 'sandbox gc'\n", of_ci) == 1);
    CHECK(counts("/etc/cron.d/a", "0 * * * * root sandbox gc --dry-run\n", {}) == 0);
    CHECK(counts("/etc/cron.d/a", "0 * * * * root true % sandbox gc\n", {}) == 0);
    CHECK(counts("/var/spool/cron/crontabs/ci", "*/10 * * * * sandbox gc\n", of_ci) == 1);
    CHECK(counts("/etc/cron.hourly/gc", "#!/bin/sh\nexport SANDBOX_STATE_DIR=/srv/a\nexec sandbox \\\n  gc\n", {"/srv/a", false}) == 1);
}

TEST_CASE("a line for cron is read back as it was meant") {
    const std::string command = doctor::crontab_command({"/opt/it's 100%/sandbox", "--state-dir", "/srv/a b", "gc"});
    CHECK(command == R"('/opt/it'\''s 100\%/sandbox' --state-dir '/srv/a b' gc)");
    const Machine machine;
    machine.write("/etc/cron.d/a", "*/10 * * * * root " + command + "\n");
    CHECK(machine.look({"/srv/a b", false}).gc.size() == 1);
}

TEST_CASE("what spares workspaces is no prune of them") {
    const Machine machine;
    machine.write("/etc/cron.d/a", "0 4 * * * root docker volume prune -f --filter label!=sandbox.workspace\n0 5 * * * root docker system prune -f\n");
    CHECK(machine.look().prune.empty());
}

TEST_CASE("the spool's own folders are no crontabs that could not be read") {
    const Machine machine;
    make_directories(machine.directory.path() + "/var/spool/cron/crontabs", 0755);
    CHECK(machine.look().saw_all);
}

TEST_CASE("timers: those that are enabled, by the unit that they name") {
    const Machine machine;
    machine.write("/etc/systemd/system/clean.timer", "[Timer]\nOnCalendar=daily\nUnit=other.service\n");
    machine.write("/etc/systemd/system/other.service", "[Service]\nExecStart=/usr/bin/sandbox gc\n");
    CHECK(machine.look().gc.empty());
    machine.enable("clean.timer");
    REQUIRE(machine.look().gc.size() == 1);
    CHECK(machine.look().gc.front().ends_with("other.service"));
    machine.write("/etc/systemd/system/other.service", "[Service]\nExecStart=-/usr/bin/sandbox gc\nUser=ci\nEnvironment=\"SANDBOX_STATE_DIR=/srv/my a\"\n");
    CHECK(machine.look().gc.empty());
    CHECK(machine.look({"/srv/my a", false, "ci"}).gc.size() == 1);
}

TEST_CASE("only a problem, or a repair that failed, is not healthy") {
    DoctorReport report;
    report.findings = {doctor::ok("a", ""), doctor::warning("b", "", ""), doctor::unknown("c", "")};
    CHECK(report.is_healthy());
    report.repairs = {{"it", false, "why", ""}};
    CHECK(!report.is_healthy());
    report.repairs.clear();
    report.findings.push_back(doctor::problem("d", "", ""));
    CHECK(!report.is_healthy());
}
