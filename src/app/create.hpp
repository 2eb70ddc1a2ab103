// SPDX-License-Identifier: Apache-2.0
// Makes a session: row, volume, container, hand-shake, seeds, in an order where every crash leaves something that gc
// finds, and every failure leaves nothing.
//
//   const CreatedSession made = create_session(context, manifest, {});
#pragma once

#include "app/admission.hpp"
#include "app/context.hpp"
#include "app/seeding.hpp"
#include "app/workspaces.hpp"
#include "domain/manifest.hpp"
#include "util/fs.hpp"

#include <memory>
#include <string>
#include <vector>

namespace sandbox::app {

enum class ChannelChoice { automatic, socket, bridge };

struct CreateOptions {
    ChannelChoice channel = ChannelChoice::automatic;
    HostRoots roots; // what the manifest's host paths may not leave
    AdmissionRules admission;
    bool reuse = false; // a running session of the name and of the same manifest will do
    WorkspaceCheck check_reopen = nullptr;
    bool ends_with_creator = false; // it lives no longer than CreatedSession::creator is held
    bool is_trial = false; // nobody's: it ends no others that are overdue, and is in no log
};

struct CreatedSession {
    state::SessionRow row;
    std::vector<std::string> notes; // what a person should know: limits the engine cannot enforce, a HOME that moved
    bool reused = false; // it was there before this call
    // Of one that ends with its creator: the connection that the agent watches, and the lock that tells others whether somebody does.
    std::shared_ptr<Stream> creator{};
    std::shared_ptr<FileLock> presence{};
};

// Throws Error; nothing is left then but what an unreachable engine kept, which the row remembers for gc.
CreatedSession create_session(Context& context, const domain::Manifest& manifest, const CreateOptions& options);

} // namespace sandbox::app
