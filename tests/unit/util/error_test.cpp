// SPDX-License-Identifier: Apache-2.0
#include "util/error_codes.hpp"

#include <array>
#include <cerrno>
#include <doctest/doctest.h>
#include <set>
#include <string>

using namespace sandbox;

namespace {

struct Row {
    ErrorCode code;
    std::string_view name;
    int status;
    bool retryable;
};

// The manual's table, written a second time on purpose: these names and numbers are what scripts rely on.
constexpr std::array k_table{
    Row{ErrorCode::failed, "failed", 1, false},
    Row{ErrorCode::io_error, "io_error", 1, false},
    Row{ErrorCode::protocol_error, "protocol_error", 1, false},
    Row{ErrorCode::cleanup_failed, "cleanup_failed", 1, true},
    Row{ErrorCode::export_failed, "export_failed", 1, false},
    Row{ErrorCode::aborted, "aborted", 1, false},
    Row{ErrorCode::usage, "usage", 2, false},
    Row{ErrorCode::manifest_invalid, "manifest_invalid", 2, false},
    Row{ErrorCode::not_found, "not_found", 3, false},
    Row{ErrorCode::session_gone, "session_gone", 3, false},
    Row{ErrorCode::exists, "exists", 4, false},
    Row{ErrorCode::busy, "busy", 4, true},
    Row{ErrorCode::conflict, "conflict", 4, false},
    Row{ErrorCode::engine_unreachable, "engine_unreachable", 5, true},
    Row{ErrorCode::session_unreachable, "session_unreachable", 5, true},
    Row{ErrorCode::engine_error, "engine_error", 1, false},
    Row{ErrorCode::image_not_found, "image_not_found", 1, false},
    Row{ErrorCode::denied, "denied", 6, false},
    Row{ErrorCode::no_space, "no_space", 7, false},
    Row{ErrorCode::limit_exceeded, "limit_exceeded", 7, false},
    Row{ErrorCode::no_capacity, "no_capacity", 7, true},
    Row{ErrorCode::timed_out, "timed_out", 1, false},
    Row{ErrorCode::not_executable, "not_executable", 1, false},
    Row{ErrorCode::command_not_found, "command_not_found", 1, false},
    Row{ErrorCode::interrupted, "interrupted", 1, false},
    Row{ErrorCode::internal, "internal", 1, false},
};

} // namespace

TEST_CASE("every code has its name, status and retryability") {
    std::set<std::string_view> names;
    for (const Row& row : k_table) {
        CAPTURE(row.name);
        CHECK(error_code_name(row.code) == row.name);
        CHECK(error_exit_status(row.code) == row.status);
        CHECK(error_is_retryable(row.code) == row.retryable);
        CHECK(names.insert(row.name).second);
    }
    CHECK(static_cast<int>(ErrorCode::internal) + 1 == static_cast<int>(k_table.size()));
    CHECK(all_error_codes().size() == k_table.size());
    for (const ErrorCode code : all_error_codes()) CHECK_FALSE(error_summary(code).empty());
}

TEST_CASE("an error gathers context on its way and keeps its hint") {
    Error error(ErrorCode::busy, "locked");
    error.context("destroy web").hint("try later");
    CHECK(std::string(error.what()) == "destroy web: locked");
    CHECK(error.hint() == "try later");
    CHECK(error.exit_status() == 4);
}

TEST_CASE("an interrupted error's status tells the signal") {
    Error error(ErrorCode::interrupted, "interrupted");
    error.signal(15);
    CHECK(error.exit_status() == 143);
}

TEST_CASE("errno chooses the code") {
    CHECK(errno_error("x", ENOSPC).code() == ErrorCode::no_space);
    CHECK(errno_error("x", EDQUOT).code() == ErrorCode::no_space);
    CHECK(errno_error("x", EEXIST).code() == ErrorCode::exists);
    CHECK(errno_error("x", ENOENT).code() == ErrorCode::not_found);
    CHECK(errno_error("x", EPERM).code() == ErrorCode::io_error);
    CHECK(errno_error("write", ENOSPC).message() == "write: No space left on device");
}
