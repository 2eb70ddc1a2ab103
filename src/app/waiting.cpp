// SPDX-License-Identifier: Apache-2.0
#include "app/waiting.hpp"

#include "app/deadlines.hpp"
#include "app/lifecycle_change.hpp"
#include "app/past.hpp"
#include "app/sessions.hpp"
#include "app/wall_end.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>

namespace sandbox::app {
namespace {

using channel::HoldEnd;
using engine::ContainerInfo;
using state::SessionRow;
using state::SessionState;

constexpr std::int64_t k_soon_ms = 100;         // something is happening to it
constexpr std::int64_t k_now_and_then_ms = 1000; // nobody will tell
constexpr std::int64_t k_unanswered_ms = 5000; // asking again takes time that belongs to the others
constexpr std::int64_t k_longest_doubt_ms = 30'000;

EndedSession ended(const SessionRow& row, EndedBy by, std::string what, std::int64_t when) {
    return {row, by, std::move(what), when, std::nullopt};
}

// Closed rows say why. One that somebody's clean-up has closed without knowing more may have told its end itself.
EndedSession closed(const SessionRow& row, std::optional<HoldEnd> end) {
    if (row.state == SessionState::destroyed) return ended(row, EndedBy::destroyed, what_became_of(row), row.closed_ms);
    const auto over = expired_ms(row, row.closed_ms);
    if (over) return ended(row, EndedBy::ttl, what_became_of(row), *over);
    return ended(row, end == HoldEnd::expired ? EndedBy::idle_timeout : EndedBy::lost, what_became_of(row), row.closed_ms);
}

EndedSession over(const SessionRow& row, const std::string& rest) {
    const std::int64_t end = wall_end_ms(row);
    return ended(row, EndedBy::ttl, title_of(row) + " expired at " + format_rfc3339(end) + " (ttl)" + rest, end);
}

// Its container is gone, or stopped and kept, and its row knows nothing of it.
EndedSession ended_by_itself(const SessionRow& row, std::optional<HoldEnd> end, bool is_kept) {
    const std::int64_t now = wall_now_ms();
    const std::string kept = is_kept ? ", and is kept stopped" : "";
    if (is_over(row)) return over(row, kept);
    if (end == HoldEnd::expired) {
        const std::string limit = format_duration(Milliseconds(row.idle_timeout_ms));
        return ended(row, EndedBy::idle_timeout, title_of(row) + " ended: nobody used it for " + limit + " (idle time-out)" + kept, now);
    }
    const std::string idle = row.idle_timeout_ms > 0 ? "idle time-out, " : "";
    const std::string why = row.state == SessionState::stopped ? "" : " (" + idle + "a crash, or an engine restart)";
    if (is_kept) return ended(row, EndedBy::stopped, title_of(row) + " is stopped" + why, now);
    return ended(row, EndedBy::lost, title_of(row) + " is lost: its container is gone (" + idle + "a crash, an engine restart, or somebody removed it)", now);
}

} // namespace

std::string_view ended_by_name(EndedBy by) {
    switch (by) {
    case EndedBy::destroyed: return "destroyed";
    case EndedBy::ttl: return "ttl";
    case EndedBy::idle_timeout: return "idle_timeout";
    case EndedBy::stopped: return "stopped";
    case EndedBy::lost: return "lost";
    }
    return "lost";
}

Waiting::Waiting(Context& context, std::vector<SessionRow> rows) : m_context(context) {
    for (auto& row : rows) m_watched.push_back({std::move(row), nullptr, std::nullopt, 0, 0});
}

std::vector<SessionRow> Waiting::left() const {
    std::vector<SessionRow> rows;
    for (const auto& one : m_watched) rows.push_back(one.row);
    return rows;
}

// A look that says nothing goes on for a while and no longer: a container that an engine cannot remove is there for good.
bool Waiting::is_doubtful_too_long(Watched& one, std::int64_t longest_ms) {
    const std::int64_t now = boot_now_ms();
    if (one.doubtful_since == 0) one.doubtful_since = now;
    one.look_at = now + k_soon_ms;
    return now - one.doubtful_since > longest_ms;
}

void Waiting::hold(Watched& one) {
    try {
        channel::Link link = link_to(m_context, one.row);
        link.on_silence = nullptr; // one that does not answer is not waited for: there are others, and a time-out
        one.hold = std::make_unique<channel::Hold>(link);
        one.doubtful_since = 0;
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        one.look_at = boot_now_ms() + k_unanswered_ms; // frozen since, on its way out, or an agent of before there were holds
    }
}

std::optional<EndedSession> Waiting::look_at_container(Watched& one, const std::optional<ContainerInfo>& container) {
    if (!container) return ended_by_itself(one.row, one.end, false);
    // Nothing in a frozen one can end it.
    if (container->paused && is_over(one.row)) return over(one.row, ", and is paused: the next create, destroy or gc clears it away");
    if (container->paused) {
        one.look_at = boot_now_ms() + k_now_and_then_ms;
        return std::nullopt;
    }
    if (container->running) {
        // An agent that says its time is over still has to end what runs; a way that was cut is gone again in a moment, or for good.
        const bool is_ending = one.end && !is_doubtful_too_long(one, one.end == HoldEnd::expired ? k_longest_doubt_ms : k_now_and_then_ms);
        if (is_ending) return std::nullopt;
        one.end.reset();
        hold(one);
        return std::nullopt;
    }
    if (is_kept_stopped(*container)) return ended_by_itself(one.row, one.end, true);
    if (is_doubtful_too_long(one, k_longest_doubt_ms)) return ended_by_itself(one.row, one.end, false);
    return std::nullopt;
}

std::optional<EndedSession> Waiting::look(Watched& one) {
    if (state::is_closed(one.row.state)) return closed(one.row, one.end);
    const bool is_known = !one.row.container_id.empty();
    try {
        auto& engine = m_context.engine_of(one.row.endpoint, one.row.engine_id);
        const auto container = is_known ? engine.inspect_container(one.row.container_id) : std::nullopt;
        // After the engine: whoever ends a session says so in the row before anything of it goes.
        const auto row = m_context.lookup().find(one.row.id);
        if (!row) return ended(one.row, EndedBy::lost, title_of(one.row) + " never came to be", wall_now_ms());
        one.row = *row;
        if (state::is_closed(row->state)) return closed(*row, one.end);
        const bool is_changing = row->state == SessionState::creating || row->state == SessionState::destroying || row->state == SessionState::failed;
        if (!is_changing) return look_at_container(one, container);
        if (m_context.lookup().is_session_locked(row->id)) one.doubtful_since = 0;
        if (is_doubtful_too_long(one, k_longest_doubt_ms)) return ended(*row, EndedBy::lost, title_of(*row) + " is half made or half destroyed: sandbox gc clears it away", wall_now_ms());
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        // No answer is no end. Who has not waited yet hears of it; who has goes on.
        if (m_is_first_round) return EndedSession{one.row, EndedBy::lost, "", 0, error};
        one.look_at = boot_now_ms() + k_now_and_then_ms;
    }
    return std::nullopt;
}

// Until something may have changed.
void Waiting::sleep(std::optional<std::int64_t> until) {
    std::int64_t next = until.value_or(INT64_MAX);
    std::vector<pollfd> set{{STDOUT_FILENO, 0, 0}};
    for (const auto& one : m_watched) {
        if (one.hold) set.push_back({one.hold->fd(), POLLIN, 0});
        else next = std::min(next, one.look_at);
    }
    const std::int64_t time = next == INT64_MAX ? -1 : std::clamp<std::int64_t>(next - boot_now_ms(), 0, 3'600'000);
    if (::poll(set.data(), set.size(), static_cast<int>(time)) < 0 && errno != EINTR) throw errno_error("cannot wait for sessions");
    if ((set[0].revents & (POLLERR | POLLNVAL)) != 0) throw Error(ErrorCode::interrupted, "standard output is closed").signal(SIGPIPE);
    auto entry = set.cbegin() + 1;
    for (auto& one : m_watched) {
        if (!one.hold || (entry++)->revents == 0) continue;
        one.end = one.hold->end_so_far();
        if (!one.end) continue;
        one.hold.reset();
        one.look_at = 0;
    }
}

std::optional<EndedSession> Waiting::next(std::optional<std::int64_t> until) {
    while (!m_watched.empty()) {
        for (auto one = m_watched.begin(); one != m_watched.end(); ++one) {
            if (one->hold || one->look_at > boot_now_ms()) continue;
            auto found = look(*one);
            if (!found) continue;
            m_watched.erase(one);
            return found;
        }
        m_is_first_round = false;
        if (until && *until <= boot_now_ms()) return std::nullopt;
        sleep(until);
    }
    return std::nullopt;
}

} // namespace sandbox::app
