// SPDX-License-Identifier: Apache-2.0
// The host's commands in the config files: what `hooks:` runs when something happens, and what `authorize:` asks.
//
//   HookRunner hooks(call); ... hooks.flush();
#pragma once

#include "app/workspaces.hpp"
#include "cli/command.hpp"
#include "state/events.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sandbox::cli {

struct Hook {
    state::EventKind kind = state::EventKind::created;
    std::vector<std::string> command;
    std::string origin; // "/etc/sandbox/config.yaml:3"
};

// Those of every config file that holds for the call, in the order in which they run. Throws what read_config_files() throws.
std::vector<Hook> config_hooks(const Invocation& call);
// What keeps the others from being run: an unknown kind of event, or what is no command. Throws the same.
std::vector<Error> hook_problems(const Invocation& call);

// Keeps what happens until the command has done its work, printed its result and let go of its locks, and then runs each event's
// hooks, one after the other and waited for: whoever awaits a command has seen its events. A start of an exec is told at once.
// A hook that fails or takes longer than half a minute is a warning: it can't undo what has happened. A signal ends the
// one that runs and leaves the others out. The config is read when there is an event. What a hook does itself runs none.
class HookRunner {
  public:
    explicit HookRunner(const Invocation& call) : m_call(call) {}
    void on_event(const state::Event& event) noexcept;
    void flush() noexcept;

  private:
    // The signal that ended it; 0: none.
    int run_all(std::vector<state::Event> events);

    const Invocation& m_call;
    std::optional<std::vector<Hook>> m_hooks; // absent: not read yet
    std::vector<state::Event> m_events;
};

// Asks the `authorize:` of every config file, with the session on its input; null where there is none. What it throws is denied
// (status 6): its command ended with another status than 0, did not run, or took longer than half a minute.
app::WorkspaceCheck workspace_check(const Invocation& call);

} // namespace sandbox::cli
