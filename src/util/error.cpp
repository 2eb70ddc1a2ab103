// SPDX-License-Identifier: Apache-2.0
#include "util/error_codes.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace sandbox {
namespace {

struct CodeRow {
    ErrorCode code;
    std::string_view name;
    int status;
    bool retryable;
    std::string_view summary;
};

constexpr std::array k_codes{
    CodeRow{ErrorCode::failed, "failed", 1, false, "the operation failed for a reason of its own, which the message says"},
    CodeRow{ErrorCode::io_error, "io_error", 1, false, "a local file or descriptor could not be read or written"},
    CodeRow{ErrorCode::protocol_error, "protocol_error", 1, false, "the other side broke the protocol: a stream that was cut or malformed"},
    CodeRow{ErrorCode::cleanup_failed, "cleanup_failed", 1, true, "something is left that should be gone; the message names it"},
    CodeRow{ErrorCode::export_failed, "export_failed", 1, false, "what was to be copied out of a session was not; the target is as it was"},
    CodeRow{ErrorCode::aborted, "aborted", 1, false, "a command lost its supervisor or its session half-way"},
    CodeRow{ErrorCode::usage, "usage", 2, false, "the command line does not hold; the hint says what would"},
    CodeRow{ErrorCode::manifest_invalid, "manifest_invalid", 2, false, "the manifest does not hold; the message has file, line and column"},
    CodeRow{ErrorCode::not_found, "not_found", 3, false, "never known here, or another owner's"},
    CodeRow{ErrorCode::session_gone, "session_gone", 3, false, "known, but destroyed, expired or lost"},
    CodeRow{ErrorCode::exists, "exists", 4, false, "the name is taken, or the workspace has its one session"},
    CodeRow{ErrorCode::busy, "busy", 4, true, "somebody else is at work on it"},
    CodeRow{ErrorCode::conflict, "conflict", 4, false, "what is there does not fit, as a directory where a file should go"},
    CodeRow{ErrorCode::engine_unreachable, "engine_unreachable", 5, true, "no engine answers, or another one than the one that made it"},
    CodeRow{ErrorCode::session_unreachable, "session_unreachable", 5, true, "the container runs, but its agent does not answer: paused, or frozen"},
    CodeRow{ErrorCode::engine_error, "engine_error", 1, false, "the engine answered with an error of its own"},
    CodeRow{ErrorCode::image_not_found, "image_not_found", 1, false, "neither here nor, as far as pulling is allowed, in the registry"},
    CodeRow{ErrorCode::denied, "denied", 6, false, "refused by permissions, or because a path leads out of its directory"},
    CodeRow{ErrorCode::no_space, "no_space", 7, false, "a disk is full"},
    CodeRow{ErrorCode::limit_exceeded, "limit_exceeded", 7, false, "over a limit, such as --max-file"},
    CodeRow{ErrorCode::no_capacity, "no_capacity", 7, true, "no process, memory or place is free"},
    CodeRow{ErrorCode::timed_out, "timed_out", 1, false, "the time was over (status 124 where a command ran)"},
    CodeRow{ErrorCode::not_executable, "not_executable", 1, false, "the command is there and cannot be executed (status 126)"},
    CodeRow{ErrorCode::command_not_found, "command_not_found", 1, false, "the session has no such command (status 127)"},
    CodeRow{ErrorCode::interrupted, "interrupted", 1, false, "ended by a signal (status 128 + its number)"},
    CodeRow{ErrorCode::internal, "internal", 1, false, "a bug in sandbox"},
};

const CodeRow& row(ErrorCode code) {
    for (const auto& candidate : k_codes) {
        if (candidate.code == code) return candidate;
    }
    return k_codes.back();
}

ErrorCode code_for_errno(int number) {
    switch (number) {
    case ENOSPC:
    case EDQUOT: return ErrorCode::no_space;
    case EEXIST: return ErrorCode::exists;
    case ENOENT: return ErrorCode::not_found;
    default: return ErrorCode::io_error;
    }
}

} // namespace

std::string_view error_code_name(ErrorCode code) { return row(code).name; }
int error_exit_status(ErrorCode code) { return row(code).status; }
bool error_is_retryable(ErrorCode code) { return row(code).retryable; }
std::string_view error_summary(ErrorCode code) { return row(code).summary; }

std::span<const ErrorCode> all_error_codes() {
    static constexpr auto codes = [] {
        std::array<ErrorCode, k_codes.size()> all{};
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = k_codes[i].code;
        return all;
    }();
    return codes;
}

Error::Error(ErrorCode code, std::string message) : m_code(code), m_message(std::move(message)) {}

Error& Error::hint(std::string text) {
    m_hint = std::move(text);
    return *this;
}

Error& Error::context(std::string_view what) {
    m_message = std::string(what) + ": " + m_message;
    return *this;
}

Error& Error::signal(int number) {
    m_signal = number;
    return *this;
}

int Error::exit_status() const {
    if (m_code == ErrorCode::interrupted && m_signal > 0) return 128 + m_signal;
    return error_exit_status(m_code);
}

Error errno_error(std::string_view context) { return errno_error(context, errno); }

Error errno_error(std::string_view context, int error_number) {
    return Error(code_for_errno(error_number), std::string(context) + ": " + std::strerror(error_number));
}

} // namespace sandbox
