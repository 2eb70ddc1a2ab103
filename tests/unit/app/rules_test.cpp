// SPDX-License-Identifier: Apache-2.0
// The pure rules of the use cases: whose path is which, what a row and its container amount to, exit statuses.
#include "app/copy.hpp"
#include "app/exec.hpp"
#include "app/observe.hpp"

#include <cerrno>
#include <doctest/doctest.h>

using namespace sandbox;
using app::parse_location;
using channel::ExecResult;
using channel::Outcome;
using state::SessionState;

TEST_CASE("a colon makes a session path unless what is before it looks like a host path") {
    CHECK(parse_location("S:/a").session == "S");
    CHECK(parse_location("S:/a").path == "/a");
    CHECK(parse_location("S:").path.empty());
    CHECK(parse_location("S:a:b").path == "a:b");
    CHECK(parse_location("./a:b").session.empty());
    CHECK(parse_location("/a:b").session.empty());
    CHECK(parse_location("dir/a:b").session.empty());
    CHECK(parse_location("../a:b").session.empty());
    CHECK(parse_location("plain").session.empty());
    CHECK_THROWS_AS(parse_location(":x"), Error);
}

TEST_CASE("what a row and its container amount to") {
    state::SessionRow row;
    row.state = SessionState::running;
    row.expires_ms = 1000;
    engine::ContainerInfo container;
    container.running = true;
    CHECK(app::true_state(row, &container, 500) == SessionState::running);
    CHECK(app::true_state(row, nullptr, 500) == SessionState::lost);
    CHECK(app::true_state(row, nullptr, 1000) == SessionState::expired);
    container.paused = true;
    CHECK(app::true_state(row, &container, 500) == SessionState::paused);
    container.paused = container.running = false;
    container.status = "exited";
    CHECK(app::true_state(row, &container, 500) == SessionState::stopped);
    for (const char* status : {"removing", "dead"}) {
        container.status = status;
        CHECK(app::true_state(row, &container, 500) == SessionState::lost);
    }
    row.state = SessionState::creating;
    CHECK(app::true_state(row, nullptr, 500) == SessionState::creating);
}

TEST_CASE("exit statuses of an exec") {
    const auto status = [](Outcome outcome, int exit_status, int signal, int start_errno, const char* message = "") {
        ExecResult result;
        result.outcome = outcome;
        result.exit_status = exit_status;
        result.signal = signal;
        result.start_errno = start_errno;
        result.message = message;
        return app::exec_exit_status(result);
    };
    CHECK(status(Outcome::exited, 0, 0, 0) == 0);
    CHECK(status(Outcome::exited, 255, 0, 0) == 255);
    CHECK(status(Outcome::signaled, -1, 9, 0) == 137);
    CHECK(status(Outcome::oom, -1, 9, 0) == 137);
    CHECK(status(Outcome::timed_out, -1, 15, 0) == 124);
    CHECK(status(Outcome::expired, -1, 15, 0) == 124);
    CHECK(status(Outcome::aborted, -1, 0, 0) == 125);
    CHECK(status(Outcome::start_failed, -1, 0, ENOENT, "exec") == 127);
    CHECK(status(Outcome::start_failed, -1, 0, EACCES, "exec") == 126);
    CHECK(status(Outcome::start_failed, -1, 0, ENOEXEC, "exec") == 126);
    CHECK(status(Outcome::start_failed, -1, 0, EAGAIN, "fork") == 125);
    CHECK(status(Outcome::start_failed, -1, 0, E2BIG, "exec") == 125);
    CHECK(status(Outcome::start_failed, -1, 0, ENOENT, "chdir") == 125);
}

TEST_CASE("a missing exit status is never 0") {
    const ExecResult nothing;
    CHECK(app::exec_exit_status(nothing) != 0);
}

TEST_CASE("a shell's own word gets the hint to use a shell") {
    ExecResult result;
    result.outcome = Outcome::start_failed;
    result.start_errno = ENOENT;
    result.message = "exec";
    channel::ExecRequest request;
    request.argv = {"cd", "/tmp"};
    const auto error = app::exec_error(result, request);
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::command_not_found);
    CHECK(error->hint().find("sh -c") != std::string::npos);
    request.argv = {"nosuch"};
    CHECK(app::exec_error(result, request)->hint().empty());
}
