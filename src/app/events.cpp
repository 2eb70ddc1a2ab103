// SPDX-License-Identifier: Apache-2.0
#include "app/events.hpp"

#include "app/exec.hpp"
#include "util/random.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <deque>
#include <exception>
#include <iterator>

namespace sandbox::app {
namespace {

using state::Event;
using state::EventKind;
using state::EventLog;

constexpr std::size_t k_exec_id_bytes = 4;
// More than the log keeps of a text: joining a whole argument list would be work for nothing.
constexpr std::size_t k_enough_of_a_command = 1024;

std::string command_line(const std::vector<std::string>& arguments) {
    std::string text;
    for (const std::string& argument : arguments) {
        if (text.size() > k_enough_of_a_command) break;
        if (!text.empty()) text += ' ';
        text.append(argument, 0, k_enough_of_a_command);
    }
    return text;
}

Event event_of(EventKind kind, const state::SessionRow& row, EventDetails details) {
    return {.kind = kind, .time_ms = wall_now_ms(), .session = row.id, .name = row.name, .owner = row.owner, .details = std::move(details)};
}

void append(Context& context, const Event& event) {
    EventLog::of_instance(context.lookup().directory()).append(event);
    context.on_event(event);
}

} // namespace

void record(Context& context, EventKind kind, const state::SessionRow& row, EventDetails details) noexcept {
    try {
        append(context, event_of(kind, row, std::move(details)));
    } catch (const std::exception&) {
        // No state directory, no memory: what is being done is worth more than its record.
    }
}

void record_collected(Context& context, std::string_view what, std::string_view id, std::string_view why, const std::string& owner) noexcept {
    try {
        EventDetails details{{"what", std::string(what)}, {"id", std::string(id)}, {"why", std::string(why)}};
        append(context, {.kind = EventKind::collected, .time_ms = wall_now_ms(), .owner = owner, .details = std::move(details)});
    } catch (const std::exception&) {
    }
}

ExecRecord::ExecRecord(Context& context, const state::SessionRow& row, const channel::ExecRequest& request) noexcept
    : m_context(context), m_row(row) {
    try {
        m_what = {{"exec", random_hex(k_exec_id_bytes)}, {"command", command_line(request.argv)}};
    } catch (const std::exception&) {
    }
    record(m_context, EventKind::exec_started, m_row, m_what);
}

void ExecRecord::ended(const channel::ExecResult& result) noexcept {
    try {
        EventDetails details{{"outcome", std::string(channel::outcome_name(result.outcome))},
                             {"exitCode", std::int64_t{exec_exit_status(result)}},
                             {"wallMs", result.wall_ms}};
        if (result.oom) details.emplace_back("oom", true);
        end(std::move(details));
    } catch (const std::exception&) {
    }
}

void ExecRecord::failed(const Error& error) noexcept {
    try {
        end({{"outcome", std::string("failed")}, {"error", std::string(error_code_name(error.code()))}});
    } catch (const std::exception&) {
    }
}

void ExecRecord::end(EventDetails details) noexcept {
    try {
        EventDetails all = m_what;
        all.insert(all.end(), std::make_move_iterator(details.begin()), std::make_move_iterator(details.end()));
        const Event event = event_of(EventKind::exec_ended, m_row, std::move(all));
        append(m_context, event);
        EventLog::of_session(m_context.lookup().session_directory(m_row.id)).append(event);
    } catch (const std::exception&) {
    }
}

std::vector<Event> last_execs(const state::Store& store, const std::string& session, std::size_t most) {
    std::deque<Event> last;
    state::EventReader(EventLog::of_session(store.session_directory(session))).read([&](const Event& event) {
        last.push_back(event);
        if (last.size() > most) last.pop_front();
    });
    return {std::make_move_iterator(last.begin()), std::make_move_iterator(last.end())};
}

} // namespace sandbox::app
