// SPDX-License-Identifier: Apache-2.0
// The agent's parts that need no container: deadlines, environment, processes, and the embedded programs.
#include "agent/deadlines.hpp"
#include "agent/embedded.hpp"
#include "agent/leader.hpp"
#include "agent/processes.hpp"
#include "util/sha256.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::agent;

TEST_CASE("idle counts from the end of the last operation and not while one runs") {
    Deadlines deadlines;
    CHECK_FALSE(deadlines.next(false, 0));
    CHECK(deadlines.idle_left(0) == -1);
    deadlines.touch(1000);
    deadlines.set_idle_timeout(500);
    CHECK(deadlines.next(false, 0) == 1500);
    CHECK(deadlines.idle_left(1200) == 300);
    CHECK(deadlines.idle_left(9999) == 0);
    deadlines.begin_operation();
    deadlines.begin_operation();
    deadlines.end_operation(1600);
    CHECK_FALSE(deadlines.next(false, 0));
    CHECK(deadlines.idle_left(5000) == -1);
    deadlines.end_operation(1700);
    CHECK(deadlines.next(false, 0) == 2200);
}

TEST_CASE("TTL does not wait for anybody; idle waits a while for a client that has connected") {
    Deadlines deadlines;
    deadlines.set_ttl(10'000);
    deadlines.begin_operation();
    CHECK(deadlines.next(true, 5000) == 10'000);
    deadlines.end_operation(0);
    deadlines.set_idle_timeout(1000);
    CHECK(deadlines.next(true, 5000) == 6000);
    CHECK(deadlines.next(false, 5000) == 1000);
    deadlines.set_ttl(500);
    CHECK(deadlines.next(true, 5000) == 500);
}

TEST_CASE("the last value of a variable wins, in its first place") {
    const auto merged = merge_environment({"A=1", "B=2"}, {"A=x=y", "C=", "AB=z"});
    CHECK(merged == std::vector<std::string>{"A=x=y", "B=2", "C=", "AB=z"});
    CHECK(find_variable(merged, "C") == std::string());
    CHECK(find_variable(merged, "D") == nullptr);
    CHECK(std::string(find_variable(merged, "A")) == "x=y");
}

TEST_CASE("as many variables as a request may bring are merged at once") {
    std::vector<std::string> many;
    for (int i = 0; i < 60'000; ++i) many.push_back("A_RATHER_LONG_NAME_" + std::to_string(i) + "=x");
    // Of this process's own time, however busy the machine is: each compared with all others would be half a minute.
    const std::clock_t start = std::clock();
    CHECK(merge_environment(many, many) == many);
    CHECK(merge_environment({}, many) == many);
    CHECK((std::clock() - start) / CLOCKS_PER_SEC < 5);
}

TEST_CASE("descendants are found through parents, and spared ones with all below them") {
    const std::vector<Process> all{{2, 1, 'S', 0}, {3, 2, 'S', 0}, {4, 3, 'Z', 0}, {5, 1, 'S', 0}, {6, 0, 'S', 0}};
    CHECK(descendants_of(1, all).size() == 4);
    CHECK(descendants_of(1, all, {2}).size() == 1);
    CHECK(descendants_of(4, all).empty());
}

TEST_CASE("a signal meant for an earlier process does not hit the one that has its pid now") {
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const auto own = descendants_of(::getpid());
    const auto found = std::find_if(own.begin(), own.end(), [child](const Process& process) { return process.pid == child; });
    REQUIRE(found != own.end());
    Process other = *found;
    other.start += 1;
    CHECK(is_there(*found));
    CHECK_FALSE(is_there(other));
    send_signal(other, SIGKILL);
    ::usleep(20'000);
    CHECK(::waitpid(child, nullptr, WNOHANG) == 0);
    send_signal(*found, SIGKILL);
    CHECK(::waitpid(child, nullptr, 0) == child);
    CHECK_FALSE(is_there(*found));
    CHECK_FALSE(find_process(child));
}

TEST_CASE("end_all leaves nothing of a tree") {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t child = ::fork();
    if (child == 0) {
        ::setsid();
        for (int i = 0; i < 5; ++i) {
            if (::fork() == 0) ::signal(SIGTERM, SIG_IGN);
        }
        for (;;) ::pause();
    }
    ::usleep(50'000);
    CHECK(descendants_of(::getpid()).size() > 5);
    const auto reap = [] {
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
    };
    const OwnChildren children;
    CHECK(end_all(children, [] { return std::vector<pid_t>{}; }, reap) == 0);
    CHECK(descendants_of(::getpid()).empty());
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("the agent in this binary is an ELF program with the digest it says") {
    REQUIRE_FALSE(embedded_agents().empty());
    for (const EmbeddedAgent& agent : embedded_agents()) {
        CHECK(agent.content.starts_with("\x7f" "ELF"));
        CHECK(agent.content.size() < (2 << 20));
        CHECK(agent.digest == sha256_hex(agent.content));
        CHECK(embedded_agent(agent.architecture)->digest == agent.digest);
    }
    CHECK_FALSE(embedded_agent("vax"));
    if (const auto agent = embedded_agent("x86_64")) CHECK(embedded_agent("amd64")->digest == agent->digest);
}
