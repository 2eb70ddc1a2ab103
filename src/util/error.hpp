// SPDX-License-Identifier: Apache-2.0
// The one error type. Every failure that crosses a function boundary is an Error with a code from the
// closed list below; the code alone decides the exit status, whether a retry can help, and the name in --json.
//
//   throw Error(ErrorCode::not_found, "no session \"web\"").hint("sandbox ps --all-owners lists every owner's");
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace sandbox {

// Each code's exit status and name are in error.cpp; tests/unit/util/error_test.cpp holds the table.
enum class ErrorCode {
    failed,               // 1: the operation failed for a reason of its own
    io_error,             // 1: a local file or descriptor could not be read or written
    protocol_error,       // 1: the other side broke the protocol (a cut or malformed stream)
    cleanup_failed,       // 1: something is left that should be gone
    export_failed,        // 1: what was to be copied out of a session was not
    aborted,              // 1: an exec lost its supervisor or its session half-way
    usage,                // 2
    manifest_invalid,     // 2
    not_found,            // 3: never known, or another owner's
    session_gone,         // 3: known, but destroyed, expired or lost
    exists,               // 4
    busy,                 // 4: somebody else works on it
    conflict,             // 4
    engine_unreachable,   // 5, retryable
    session_unreachable,  // 5, retryable: container runs but its agent does not answer
    engine_error,         // 1: the engine answered with an error
    image_not_found,      // 1
    denied,               // 6
    no_space,             // 7
    limit_exceeded,       // 7
    no_capacity,          // 7, retryable
    timed_out,            // 124 where a command was run, else 1
    not_executable,       // 126 in exec
    command_not_found,    // 127 in exec
    interrupted,          // 130, 143, 129: `signal` says which
    internal,             // 1: a bug in sandbox
};

// The snake_case name of a code, as it appears in --json.
std::string_view error_code_name(ErrorCode code);
// The exit status of section 3 of the manual for a code (0-7); 1 for codes without one of their own.
int error_exit_status(ErrorCode code);
// Whether the same call may succeed later with nothing changed by the caller.
bool error_is_retryable(ErrorCode code);

class Error : public std::exception {
  public:
    Error(ErrorCode code, std::string message);

    // Adds what to do about it. The last hint wins. Returns *this so that it can be thrown in one expression.
    Error& hint(std::string text);
    // Puts "context: " in front of the message: what was being done when it failed.
    Error& context(std::string_view what);
    // Sets the signal that an `interrupted` error stands for (SIGINT, SIGTERM, SIGHUP).
    Error& signal(int number);

    ErrorCode code() const { return m_code; }
    const std::string& message() const { return m_message; }
    const std::string& hint() const { return m_hint; }
    int signal() const { return m_signal; }
    int exit_status() const;
    const char* what() const noexcept override { return m_message.c_str(); }

  private:
    ErrorCode m_code;
    std::string m_message;
    std::string m_hint;
    int m_signal = 0;
};

// An Error from errno: "context: No space left on device". ENOSPC and EDQUOT become no_space, EEXIST exists,
// ENOENT not_found; everything else io_error. Pass `error_number` where errno may have changed.
Error errno_error(std::string_view context);
Error errno_error(std::string_view context, int error_number);

} // namespace sandbox
