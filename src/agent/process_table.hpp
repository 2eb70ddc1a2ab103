// SPDX-License-Identifier: Apache-2.0
// What PID 1 knows of the session's managed processes: small, whatever they do. Pure.
//
//   const auto answer = table.claim(info, max_running, keeper_pid);
//   if (auto* entry = table.find("web")) ...
#pragma once

#include "agent/managed_messages.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace sandbox::agent {

class ProcessTable {
  public:
    // Ended ones that stay, with their logs.
    static constexpr std::size_t k_max_ended = 16;

    struct Entry {
        ManagedInfo info;
        pid_t keeper = -1;          // -1: it was killed
        bool is_told = false;       // its command is executed: until then nobody but its keeper knows its id
        bool is_operation = false;  // is counted as one, to keep the session from idling
        std::uint64_t ended = 0;    // the how manieth to end; 0: it has not
    };
    struct Answer {
        std::string id;   // empty: refused
        std::string code; // an error code's name
        std::string text;
    };

    // Makes an entry, unless its name is a running one's or too many run.
    Answer claim(ManagedInfo info, std::uint32_t max_running, pid_t keeper);
    // Of those that are told: by id; by name the one that runs, or the last that had it.
    Entry* find(std::string_view id_or_name);
    Entry* of_keeper(pid_t keeper);
    void update(Entry& entry, ManagedInfo info);
    // Its keeper is gone, and what it knew.
    void lose(Entry& entry, std::int64_t wall_ms);
    void remove(pid_t keeper);
    // Takes away the one that ended first when there are too many, of those that nobody reads from; its keeper is to be let go.
    std::optional<Entry> take_surplus(const std::function<bool(pid_t keeper)>& is_read);
    const std::list<Entry>& entries() const { return m_entries; }

  private:
    std::list<Entry> m_entries; // in the order in which they were started
    std::uint32_t m_last_id = 0;
    std::uint64_t m_last_ended = 0;
};

} // namespace sandbox::agent
