// SPDX-License-Identifier: Apache-2.0
#include "channel/command_items.hpp"

#include "agent/messages.hpp"
#include "channel/handshake.hpp"
#include "util/error.hpp"

#include <cerrno>

namespace sandbox::channel {
namespace {

Outcome public_outcome(agent::ExecOutcome outcome) {
    switch (outcome) {
    case agent::ExecOutcome::exited: return Outcome::exited;
    case agent::ExecOutcome::signaled: return Outcome::signaled;
    case agent::ExecOutcome::timed_out: return Outcome::timed_out;
    case agent::ExecOutcome::oom: return Outcome::oom;
    case agent::ExecOutcome::expired: return Outcome::expired;
    case agent::ExecOutcome::start_failed: return Outcome::start_failed;
    case agent::ExecOutcome::detached: return Outcome::detached;
    }
    return Outcome::aborted;
}

} // namespace

std::vector<std::string> command_items(const std::vector<std::string>& argv, const Environment& env) {
    std::vector<std::string> items = argv;
    for (std::string& variable : environment_items(env)) items.push_back(std::move(variable));
    for (const std::string& item : items) {
        if (item.find('\0') != std::string::npos) throw Error(ErrorCode::usage, "an argument or variable holds a NUL byte");
    }
    return items;
}

bool is_too_big(const std::vector<std::string>& items) {
    std::size_t bytes = 0;
    for (const std::string& item : items) {
        bytes += item.size();
        if (item.size() >= agent::k_max_frame) return true;
    }
    return items.size() > agent::k_max_items || bytes > agent::k_max_item_bytes;
}

ExecResult too_big() {
    ExecResult result;
    result.outcome = Outcome::start_failed;
    result.start_errno = E2BIG;
    result.message = "exec";
    return result;
}

ExecResult public_result(std::string_view payload) {
    const agent::ResultMessage message = agent::decode_result(payload);
    ExecResult result;
    result.outcome = public_outcome(message.outcome);
    result.exit_status = message.exit_status;
    result.signal = static_cast<int>(message.signal);
    result.start_errno = static_cast<int>(message.start_errno);
    result.message = message.step;
    result.wall_ms = message.wall_ms;
    result.user_cpu_us = message.user_cpu_us;
    result.system_cpu_us = message.system_cpu_us;
    result.peak_rss_kib = message.peak_rss_kib;
    result.stdout_bytes = message.stdout_bytes;
    result.stderr_bytes = message.stderr_bytes;
    result.left_running = static_cast<int>(message.left_running);
    result.oom = message.oom;
    return result;
}

} // namespace sandbox::channel
