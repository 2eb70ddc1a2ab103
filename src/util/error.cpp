// SPDX-License-Identifier: Apache-2.0
#include "util/error.hpp"

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
};

constexpr std::array k_codes{
    CodeRow{ErrorCode::failed, "failed", 1, false},
    CodeRow{ErrorCode::io_error, "io_error", 1, false},
    CodeRow{ErrorCode::protocol_error, "protocol_error", 1, false},
    CodeRow{ErrorCode::cleanup_failed, "cleanup_failed", 1, true},
    CodeRow{ErrorCode::aborted, "aborted", 1, false},
    CodeRow{ErrorCode::usage, "usage", 2, false},
    CodeRow{ErrorCode::manifest_invalid, "manifest_invalid", 2, false},
    CodeRow{ErrorCode::not_found, "not_found", 3, false},
    CodeRow{ErrorCode::session_gone, "session_gone", 3, false},
    CodeRow{ErrorCode::exists, "exists", 4, false},
    CodeRow{ErrorCode::busy, "busy", 4, true},
    CodeRow{ErrorCode::conflict, "conflict", 4, false},
    CodeRow{ErrorCode::engine_unreachable, "engine_unreachable", 5, true},
    CodeRow{ErrorCode::session_unreachable, "session_unreachable", 5, true},
    CodeRow{ErrorCode::engine_error, "engine_error", 1, false},
    CodeRow{ErrorCode::image_not_found, "image_not_found", 1, false},
    CodeRow{ErrorCode::denied, "denied", 6, false},
    CodeRow{ErrorCode::no_space, "no_space", 7, false},
    CodeRow{ErrorCode::limit_exceeded, "limit_exceeded", 7, false},
    CodeRow{ErrorCode::no_capacity, "no_capacity", 7, true},
    CodeRow{ErrorCode::timed_out, "timed_out", 1, false},
    CodeRow{ErrorCode::not_executable, "not_executable", 1, false},
    CodeRow{ErrorCode::command_not_found, "command_not_found", 1, false},
    CodeRow{ErrorCode::interrupted, "interrupted", 1, false},
    CodeRow{ErrorCode::internal, "internal", 1, false},
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
