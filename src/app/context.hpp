// SPDX-License-Identifier: Apache-2.0
// What every use case is given: whose call it is, the state, and the engine, each opened when it is first needed, so
// that a verb pays only for what it touches.
//
//   Context context(settings);
//   context.store().list({.owner = context.owner()});
#pragma once

#include "engine/client.hpp"
#include "state/events.hpp"
#include "state/store.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox::app {

// The global options, as given; absent means the environment or the built-in default decides.
struct Settings {
    std::optional<std::string> owner;
    std::optional<std::string> engine;
    std::optional<std::string> state_directory;
};

class Context {
  public:
    explicit Context(Settings settings);
    // One for another thread: the same settings, a store and engine clients of its own. What it tells goes to this one's
    // functions, one at a time; it must not outlive this one and the mutex.
    Context sibling(std::mutex& telling);

    // --owner, else SANDBOX_OWNER, else uid:<uid>. Throws usage when it breaks the rule for owners.
    const std::string& owner() const { return m_owner; }
    // Where the state is, or would be. Throws usage where nothing says.
    std::string state_directory() const;
    state::Store& store();
    // The same store opened without repairs or migrations where possible: for verbs that must start fast.
    state::Store& lookup();
    // The same for a mere look: null where there is no state yet, or one that would have to be repaired or migrated first.
    const state::Store* peek();
    // From now on a full disk is met with what is kept for it: for what makes room. Before the store is used.
    void use_reserve() { m_reserve = state::Reserve::give_up; }
    // The engine that new sessions are made on.
    engine::Client& engine();
    // The engine that made a row, after checking that it still is that engine. Throws engine_unreachable when another
    // one answers at the address (law 3).
    engine::Client& engine_of(const std::string& endpoint, const std::string& engine_id);
    // Where messages about long work go (pull progress, notes); does nothing unless set.
    std::function<void(std::string_view)> progress = [](std::string_view) {};
    // Told of each event once it is in the log (events.hpp). Must not throw.
    std::function<void(const state::Event&)> on_event = [](const state::Event&) {};
    // Where a repair of the state directory is told.
    std::function<void(std::string_view)> warn = [](std::string_view) {};

  private:
    state::Store& keep(state::Store store);
    engine::Client& client_for(const engine::Endpoint& endpoint);

    Settings m_settings;
    std::string m_owner;
    state::Reserve m_reserve = state::Reserve::keep;
    std::optional<state::Store> m_store;
    std::map<std::string, std::unique_ptr<engine::Client>> m_clients; // by endpoint URL
    std::map<std::string, std::string> m_verified;                    // endpoint URL -> engine id
};

} // namespace sandbox::app
