// SPDX-License-Identifier: Apache-2.0
// What sessions use: processor, memory, processes, network and disk. Looking changes nothing and is no activity.
//
//   Meter meter(context, {.names = {"web"}}); meter.measure(); ... wait ...; print(meter.measure());
#pragma once

#include "app/selection.hpp"
#include "engine/container_control.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sandbox::app {

struct Usage {
    state::SessionRow row{};
    state::SessionState state = state::SessionState::running; // what it really is
    std::optional<engine::ContainerStats> sample{}; // absent: it does not run, or its engine did not answer
    std::optional<double> cpu_percent{};          // of one processor, since the measurement before; absent at the first
    std::optional<std::uint64_t> disk{};          // bytes in the workspace; absent where that cannot be told quickly
    std::int64_t time_ms = 0;                     // wall
    std::optional<Error> error{};                 // why there is no sample of it
};

class Meter {
  public:
    Meter(Context& context, SessionSelection selection) : m_context(context), m_selection(std::move(selection)) {}
    // One look at each selected session that is open, oldest first. Names that cannot be measured are in failures() after the first.
    std::vector<Usage> measure();
    const std::vector<SessionFailure>& failures() const { return m_failures; }

  private:
    struct Disk {
        std::optional<std::uint64_t> bytes;
        std::int64_t seen_ms = 0;
    };
    std::vector<state::SessionRow> open_rows();
    std::vector<state::SessionRow> named_rows();
    void add_rates(std::vector<Usage>& all);

    Context& m_context;
    SessionSelection m_selection;
    std::vector<SessionFailure> m_failures;
    bool m_is_first = true;
    std::map<std::string, engine::ContainerStats> m_before; // by session
    std::map<std::string, Disk> m_disks;
};

} // namespace sandbox::app
