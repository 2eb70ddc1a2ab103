// SPDX-License-Identifier: Apache-2.0
#include "app/deadlines.hpp"

#include "app/sessions.hpp"
#include "app/wall_end.hpp"
#include "domain/longest_life.hpp"

#include <algorithm>
#include <cstdlib>

namespace sandbox::app {
namespace {

constexpr Milliseconds k_patience{5000};
constexpr std::int64_t k_longest_life_ms = Milliseconds(domain::k_longest_life).count();
constexpr std::int64_t k_step_ms = 2000; // two clocks that are read one after the other differ by less
constexpr std::int64_t k_latest_boot_clock_ms = 1'000'000'000'000'000; // no machine runs for 30,000 years: what says so is made up

} // namespace

std::optional<std::int64_t> time_left_ms(const state::SessionRow& row) {
    if (row.expires_ms <= 0) return std::nullopt;
    if (row.expires_boot_ms > 0 && !row.boot_id.empty() && row.boot_id == boot_id()) return row.expires_boot_ms - boot_now_ms();
    return row.expires_ms - wall_now_ms();
}

bool is_over(const state::SessionRow& row) { return time_left_ms(row).value_or(1) <= 0; }

std::int64_t wall_end_ms(const state::SessionRow& row) {
    const auto left = state::is_closed(row.state) ? std::nullopt : time_left_ms(row);
    if (!left) return row.expires_ms;
    const std::int64_t end = wall_now_ms() + *left;
    return std::abs(end - row.expires_ms) > k_step_ms ? end : row.expires_ms;
}

void set_end(state::SessionRow& row, Milliseconds from_now) {
    row.expires_ms = wall_now_ms() + from_now.count();
    row.expires_boot_ms = boot_now_ms() + from_now.count();
    row.boot_id = boot_id();
}

std::int64_t end_on_boot_clock(const state::SessionRow& row) {
    const auto left = time_left_ms(row);
    return left ? std::max<std::int64_t>(1, boot_now_ms() + *left) : 0;
}

std::optional<std::int64_t> end_by_agent(const channel::Link& link) {
    try {
        const channel::Status status = channel::status(link);
        if (status.ttl_boot_ms <= 0 || status.boot_now_ms < 0) return std::nullopt;
        return wall_now_ms() + std::clamp(status.ttl_boot_ms - status.boot_now_ms, -k_longest_life_ms, k_longest_life_ms);
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        return std::nullopt;
    }
}

namespace {

// The session's lock is held meanwhile, and whoever wants to destroy the session waits for it: an agent that does not answer is given up on at
// once, and not only when the engine has been asked why.
channel::Link impatient_link(Context& context, const state::SessionRow& row) {
    channel::Link link = link_to(context, row);
    link.on_silence = nullptr;
    return link;
}

} // namespace

void tell_agent(Context& context, const state::SessionRow& row) {
    const auto left = time_left_ms(row);
    if (!left) return renew_idle_time(context, row);
    const channel::Link link = impatient_link(context, row);
    // It may run under another kernel, whose boot clock is not ours.
    const std::int64_t its_now = std::clamp<std::int64_t>(channel::status(link, k_patience).boot_now_ms, 0, k_latest_boot_clock_ms);
    channel::set_deadlines(link, std::max<std::int64_t>(1, its_now + *left), std::nullopt);
}

void renew_idle_time(Context& context, const state::SessionRow& row) {
    channel::set_deadlines(impatient_link(context, row), std::nullopt, std::nullopt);
}

} // namespace sandbox::app
