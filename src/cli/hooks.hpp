// SPDX-License-Identifier: Apache-2.0
// The host's commands in the config files: what `hooks:` runs when something happens, and what `authorize:` asks.
//
//   call.context().on_event = HookRunner(call);
#pragma once

#include "app/workspaces.hpp"
#include "cli/command.hpp"
#include "state/events.hpp"

#include <memory>
#include <string>
#include <vector>

namespace sandbox::cli {

struct Hook {
    state::EventKind kind = state::EventKind::created;
    std::vector<std::string> command;
    std::string origin; // "/etc/sandbox/config.yaml:3"
};

// Those of every config file that holds for the call, in the order in which they run. Throws manifest_invalid for an
// unknown kind of event, and what config_files() throws.
std::vector<Hook> config_hooks(const Invocation& call);

// Runs an event's hooks one after the other and waits for them, so that whoever awaits a command has seen its events. A
// hook that fails or takes longer than half a minute is a warning: it can't undo what has happened. The config is read at
// the first event. Hooks are for what a person or a job does: what a hook does itself runs none.
class HookRunner {
  public:
    explicit HookRunner(const Invocation& call) : m_call(call) {}
    void operator()(const state::Event& event) noexcept;

  private:
    const Invocation& m_call;
    std::shared_ptr<std::vector<Hook>> m_hooks; // null: not read yet
};

// Asks the `authorize:` of every config file, with the session on its input; null where there is none. What it throws is denied
// (status 6): its command ended with another status than 0, did not run, or took longer than half a minute.
app::WorkspaceCheck workspace_check(const Invocation& call);

} // namespace sandbox::cli
