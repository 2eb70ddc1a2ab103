// SPDX-License-Identifier: Apache-2.0
#include "agent/process_table.hpp"

#include <algorithm>

namespace sandbox::agent {
namespace {

std::string id_of(std::uint32_t number) { return "p" + std::to_string(number); }

std::string name_is_taken(const ProcessTable::Entry& entry) {
    const std::string who = "a managed process \"" + entry.info.name + "\"";
    if (!entry.is_told) return who + " is being started";
    const bool has_ended = entry.info.state != ManagedState::running && entry.info.state != ManagedState::restarting;
    if (!has_ended) return who + " runs already (" + entry.info.id + ")";
    return who + " has ended (" + entry.info.id + "), but " + std::to_string(entry.info.left_running) + " that it started still run";
}

} // namespace

ProcessTable::Answer ProcessTable::claim(ManagedInfo info, std::uint32_t max_running, pid_t keeper) {
    std::size_t running = 0;
    for (const Entry& entry : m_entries) {
        if (!entry.info.is_running()) continue;
        ++running;
        if (!info.name.empty() && entry.info.name == info.name) return {{}, "exists", name_is_taken(entry)};
    }
    const std::size_t most = std::min(max_running, k_max_managed);
    if (running >= most) {
        return {{}, "limit_exceeded", std::to_string(running) + " managed processes run in the session, and no more than " + std::to_string(most) + " may"};
    }
    Entry& entry = m_entries.emplace_back();
    entry.info = std::move(info);
    entry.info.id = id_of(++m_last_id);
    entry.keeper = keeper;
    return {entry.info.id, {}, {}};
}

ProcessTable::Entry* ProcessTable::find(std::string_view id_or_name) {
    Entry* found = nullptr;
    for (Entry& entry : m_entries) {
        if (!entry.is_told) continue;
        if (entry.info.id == id_or_name) return &entry;
        if (entry.info.name.empty() || entry.info.name != id_or_name) continue;
        if (found == nullptr || !found->info.is_running()) found = &entry;
    }
    return found;
}

ProcessTable::Entry* ProcessTable::of_keeper(pid_t keeper) {
    const auto found = std::find_if(m_entries.begin(), m_entries.end(), [keeper](const Entry& one) { return one.keeper == keeper; });
    return keeper < 0 || found == m_entries.end() ? nullptr : &*found;
}

void ProcessTable::update(Entry& entry, ManagedInfo info) {
    info.id = entry.info.id;
    entry.info = std::move(info);
    entry.is_told = true;
    if (entry.info.is_running()) entry.ended = 0;
    else if (entry.ended == 0) entry.ended = ++m_last_ended;
}

void ProcessTable::lose(Entry& entry, std::int64_t wall_ms) {
    entry.keeper = -1;
    ManagedInfo info = entry.info;
    if (info.is_running()) {
        // What is known of an exit status is of a leader that left something running, or of an attempt before this one.
        info.state = ManagedState::aborted;
        info.exit_status = -1;
        info.signal = 0;
        info.ended_ms = wall_ms;
    }
    info.pid = 0;
    info.left_running = 0;
    update(entry, std::move(info));
}

void ProcessTable::remove(pid_t keeper) {
    const Entry* entry = of_keeper(keeper);
    if (entry == nullptr) return;
    // What was never started has no id: nobody has seen it, so the next one gets it, unless that has got the one behind it already.
    if (!entry->is_told && entry->info.id == id_of(m_last_id)) --m_last_id;
    std::erase_if(m_entries, [keeper](const Entry& one) { return one.keeper == keeper; });
}

std::optional<ProcessTable::Entry> ProcessTable::take_surplus(const std::function<bool(pid_t)>& is_read) {
    auto oldest = m_entries.end();
    std::size_t ended = 0;
    for (auto entry = m_entries.begin(); entry != m_entries.end(); ++entry) {
        if (entry->ended == 0) continue;
        ++ended;
        if (is_read(entry->keeper)) continue;
        if (oldest == m_entries.end() || entry->ended < oldest->ended) oldest = entry;
    }
    if (ended <= k_max_ended || oldest == m_entries.end()) return std::nullopt;
    Entry taken = std::move(*oldest);
    m_entries.erase(oldest);
    return taken;
}

} // namespace sandbox::agent
