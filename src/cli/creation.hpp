// SPDX-License-Identifier: Apache-2.0
// From the line to a session: the options that create, run and with share, and what they tell a person of what they made.
//
//   const auto builder = session_builder(call); const auto how = create_options(call, builder);
//   const auto manifest = session_manifest(builder); const auto made = app::create_session(call.context(), manifest, how);
//   tell_made(call, made, manifest);
#pragma once

#include "app/create.hpp"
#include "cli/command.hpp"
#include "domain/manifest.hpp"

#include <vector>

namespace sandbox::cli {

// The manifest's keys, --file, --wait and --channel.
std::vector<Option> creation_options();
domain::ManifestBuilder session_builder(const Invocation& call);
// What it builds, with the files that values of the environment come from at absolute paths.
domain::Manifest session_manifest(const domain::ManifestBuilder& builder);
app::CreateOptions create_options(Invocation& call, const domain::ManifestBuilder& builder);
// Where a person is told what happens on the way: on a terminal, and with --verbose.
void follow_creation(Invocation& call);
// Notes, and on a terminal one line of what was made.
void tell_made(const Invocation& call, const app::CreatedSession& made, const domain::Manifest& manifest);

} // namespace sandbox::cli
