// SPDX-License-Identifier: Apache-2.0
#include "app/doctor_checks.hpp"

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
    machine.write("/etc/cron.d/a", "*/10 * * * * ci /usr/local/bin/sandbox --quiet gc\n");
    CHECK(machine.look().gc.size() == 1);
    machine.write("/etc/cron.d/b", "0 4 * * * root docker system prune -af --volumes\n");
    CHECK(machine.look().prune.size() == 1);
}

TEST_CASE("a schedule is for the state that it names") {
    const Machine machine;
    machine.write("/etc/cron.d/a", "*/10 * * * * ci sandbox gc\n");
    CHECK(machine.look({"/srv/state", false}).gc.empty());
    CHECK(machine.look({"/srv/state", false}).gc_elsewhere.size() == 1);
    machine.write("/etc/cron.d/a", "*/10 * * * * ci sandbox --state-dir /srv/state gc\n");
    CHECK(machine.look({"/srv/state", false}).gc.size() == 1);
    CHECK(machine.look().gc.empty());
}

TEST_CASE("timers: those that are enabled, by the unit that they name") {
    const Machine machine;
    machine.write("/etc/systemd/system/clean.timer", "[Timer]\nOnCalendar=daily\nUnit=other.service\n");
    machine.write("/etc/systemd/system/other.service", "[Service]\nExecStart=/usr/bin/sandbox gc\n");
    CHECK(machine.look().gc.empty());
    machine.enable("clean.timer");
    REQUIRE(machine.look().gc.size() == 1);
    CHECK(machine.look().gc.front().ends_with("other.service"));
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
