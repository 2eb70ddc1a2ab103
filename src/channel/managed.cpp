// SPDX-License-Identifier: Apache-2.0
#include "channel/managed.hpp"

#include "channel/command_items.hpp"
#include "channel/connection.hpp"
#include "channel/managed_wire.hpp"
#include "util/error.hpp"

#include <algorithm>

namespace sandbox::channel {
namespace {

using agent::FrameType;
using agent::FrameView;
using agent::Operation;

// How much later than asked for an agent may say that a time is over.
constexpr Milliseconds k_leeway{10'000};
constexpr std::int64_t k_for_ever = INT64_MAX;
// The most that the agent tells of, whatever it was asked to run at once.
constexpr std::size_t k_most_processes = agent::k_max_managed + 64;

std::string encode_request(const ProcessRequest& request, const std::vector<std::string>& items) {
    agent::ManagedStart message;
    message.name = request.name;
    message.cwd = request.cwd;
    message.keep_alive = request.keep_alive;
    message.grace_ms = request.grace.count();
    message.max_restarts = request.max_restarts;
    message.ready_port = request.ready_port;
    message.ready_log = request.ready_log;
    message.ready_timeout_ms = request.ready_timeout.count();
    message.log_limit = request.log_limit;
    message.max_processes = request.max_processes;
    message.argument_count = static_cast<std::uint32_t>(request.argv.size());
    message.environment_count = static_cast<std::uint32_t>(request.env.size());
    std::string frames = agent::encode(message);
    agent::append_items(frames, items);
    return frames;
}

StartedProcess::Ready public_ready(agent::ReadyOutcome outcome) {
    switch (outcome) {
    case agent::ReadyOutcome::ready: return StartedProcess::Ready::ready;
    case agent::ReadyOutcome::ended: return StartedProcess::Ready::ended;
    case agent::ReadyOutcome::timed_out: break;
    }
    return StartedProcess::Ready::timed_out;
}

ManagedProcess process_of(const FrameView& frame) {
    if (frame.type != FrameType::reply) throw agent::WireError("unexpected frame");
    return checked(agent::decode_managed_info(frame.payload));
}

void take_readiness(agent::FramedStream& connection, const ProcessRequest& request, const Await& await, StartedProcess& started) {
    const std::int64_t until = boot_now_ms() + (request.ready_timeout + k_leeway).count();
    if (await && !connection.stream().buffered()) await(connection.fd(), until);
    const FrameView frame = read_before(connection, until);
    if (frame.type != FrameType::reply) throw agent::WireError("unexpected frame");
    auto message = agent::decode_ready(frame.payload);
    started.ready = public_ready(message.outcome);
    started.port_seen = message.port_seen;
    started.log_seen = message.log_seen;
    started.process = checked(std::move(message.info));
}

// The answer to a question about one process; absent when `until` (boot_now_ms) is over first.
std::optional<ManagedProcess> await_answer(agent::FramedStream& connection, std::int64_t until, const Await& await) {
    return speak([&]() -> std::optional<ManagedProcess> {
        for (;;) {
            if (const auto frame = connection.buffered_view()) {
                if (frame->type == FrameType::failure) throw agent_failure(frame->payload);
                return process_of(*frame);
            }
            if (await && !connection.stream().buffered()) await(connection.fd(), until);
            if (has_frame_before(connection, await ? boot_now_ms() : until)) {
                if (!connection.fill()) throw agent::CutStream();
            } else if (boot_now_ms() >= until) {
                return std::nullopt;
            }
        }
    });
}

} // namespace

std::string_view state_name(ManagedState state) {
    switch (state) {
    case ManagedState::running: return "running";
    case ManagedState::restarting: return "restarting";
    case ManagedState::exited: return "exited";
    case ManagedState::stopped: return "stopped";
    case ManagedState::aborted: break;
    }
    return "aborted";
}

StartedProcess start_process(const Link& link, const ProcessRequest& request, const std::function<void(const ManagedProcess&)>& on_started,
                             const Await& await) {
    if (request.argv.empty()) throw Error(ErrorCode::usage, "no command");
    StartedProcess started;
    const auto items = command_items(request.argv, request.env);
    if (is_too_big(items)) {
        started.failure = too_big();
        return started;
    }
    auto connection = open_live_connection(link, Operation::start_process, encode_request(request, items));
    speak([&] {
        const FrameView frame = await_frame(connection);
        if (frame.type == FrameType::result) {
            started.failure = public_result(frame.payload);
            return;
        }
        started.process = process_of(frame);
        on_started(*started.process);
        if (request.ready_port != 0 || !request.ready_log.empty()) take_readiness(connection, request, await, started);
    });
    return started;
}

std::vector<ManagedProcess> list_processes(const Link& link, Milliseconds deadline) {
    auto connection = open_live_connection(link, Operation::list_processes, {});
    const std::int64_t until = boot_now_ms() + deadline.count();
    std::vector<ManagedProcess> processes;
    speak([&] {
        for (;;) {
            const FrameView frame = read_before(connection, until);
            if (frame.type == FrameType::done) return;
            if (processes.size() == k_most_processes) throw agent::WireError("too many processes");
            processes.push_back(process_of(frame));
        }
    });
    return processes;
}

ManagedProcess stop_process(const Link& link, const std::string& process, std::optional<Milliseconds> grace, const Await& await) {
    agent::ManagedQuery query{.process = process};
    if (grace) query.grace_ms = grace->count();
    auto connection = open_live_connection(link, Operation::stop_process, query_request(query));
    return await_answer(connection, k_for_ever, await).value();
}

std::optional<ManagedProcess> wait_process(const Link& link, const std::string& process, std::optional<Milliseconds> patience, const Await& await) {
    auto connection = open_live_connection(link, Operation::wait_process, query_request({.process = process}));
    return await_answer(connection, patience ? boot_now_ms() + patience->count() : k_for_ever, await);
}

} // namespace sandbox::channel
