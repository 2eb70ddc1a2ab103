// SPDX-License-Identifier: Apache-2.0
#include "app/stats.hpp"

#include "app/observe.hpp"
#include "app/sessions.hpp"
#include "app/workers.hpp"
#include "channel/usage.hpp"
#include "util/time.hpp"

namespace sandbox::app {
namespace {

using state::SessionState;

constexpr Milliseconds k_disk_patience{2000};
constexpr std::int64_t k_disk_every_ms = 10'000; // walking a tree costs the session time of its own

void look_at(Context& context, Usage& usage) {
    usage.time_ms = wall_now_ms();
    try {
        engine::Client& engine = context.engine_of(usage.row.endpoint, usage.row.engine_id);
        const auto container = usage.row.container_id.empty() ? std::nullopt : engine.inspect_container(usage.row.container_id);
        usage.state = true_state(usage.row, container ? &*container : nullptr, usage.time_ms);
        if (!container || !container->running) return;
        usage.sample = engine::ContainerControl(engine.endpoint()).stats(usage.row.container_id);
        if (usage.sample && usage.sample->read_ms == 0) usage.sample.reset(); // it ended in between
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        usage.error = error;
    }
}

// Of one processor, as docker shows it. An engine that does not say when it looked cannot be asked for a rate.
std::optional<double> rate(const engine::ContainerStats& before, const engine::ContainerStats& now) {
    const std::int64_t passed = now.read_ms - before.read_ms;
    if (passed <= 0 || now.cpu_ns < before.cpu_ns) return std::nullopt; // the same look, or started anew
    constexpr double k_ns_in_ms = 1e6;
    return static_cast<double>(now.cpu_ns - before.cpu_ns) / (static_cast<double>(passed) * k_ns_in_ms) * 100;
}

} // namespace

std::vector<state::SessionRow> Meter::named_rows() {
    std::vector<SessionFailure> failures;
    std::vector<state::SessionRow> rows;
    for (auto& one : select_sessions(m_context, m_selection, failures)) {
        try {
            rows.push_back(find_open_session(m_context.lookup(), one.row.owner, one.row.id));
        } catch (const Error& error) {
            failures.push_back({one.target, error});
        }
    }
    if (m_is_first) m_failures = std::move(failures);
    return rows;
}

std::vector<state::SessionRow> Meter::open_rows() {
    if (!m_selection.names.empty()) return named_rows();
    std::vector<state::SessionRow> rows;
    for (auto& one : select_sessions(m_context, m_selection, m_failures)) rows.push_back(std::move(one.row));
    return rows;
}

void Meter::add_rates(std::vector<Usage>& all) {
    std::map<std::string, engine::ContainerStats> now;
    for (Usage& usage : all) {
        if (!usage.sample) continue;
        const auto before = m_before.find(usage.row.id);
        if (before != m_before.end()) usage.cpu_percent = rate(before->second, *usage.sample);
        now.emplace(usage.row.id, *usage.sample);
    }
    m_before = std::move(now);
}

std::vector<Usage> Meter::measure() {
    std::vector<Usage> all;
    for (auto& row : open_rows()) all.push_back({.row = std::move(row)});
    std::vector<Disk> disks(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) disks[i] = m_disks[all[i].row.id];
    for_each_at_once(m_context, all.size(), [&](Context& own, std::size_t i) {
        look_at(own, all[i]);
        const bool is_due = boot_now_ms() - disks[i].seen_ms >= k_disk_every_ms || disks[i].seen_ms == 0;
        if (!is_due || all[i].state != SessionState::running || !all[i].sample) return;
        disks[i] = {channel::workdir_bytes(link_to(own, all[i].row), k_disk_patience), boot_now_ms()};
    });
    m_disks.clear();
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].disk = disks[i].bytes;
        m_disks.emplace(all[i].row.id, disks[i]);
    }
    add_rates(all);
    for (const Usage& usage : all) {
        if (!usage.error || !m_is_first) continue;
        const std::string& who = usage.row.name.empty() ? usage.row.id : usage.row.name;
        if (m_selection.names.empty()) m_context.warn(who + ": " + usage.error->message());
        else m_failures.push_back({who, *usage.error});
    }
    m_is_first = false;
    return all;
}

} // namespace sandbox::app
