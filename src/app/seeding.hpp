// SPDX-License-Identifier: Apache-2.0
// What a manifest brings from the host: environment values and files. References are resolved and opened before the
// first effect, so that a missing file costs nothing; contents go over the channel, never into the container's config.
//
//   const HostInputs inputs = read_host_inputs(manifest, roots); ... plant(link, manifest.seeds);
#pragma once

#include "app/git_source.hpp"
#include "channel/agent_client.hpp"
#include "domain/manifest.hpp"

#include <map>
#include <string>
#include <vector>

namespace sandbox::app {

// The folders of the manifests and what --allow-path added. A path that was written to lie below one of them may not
// lead out of all of them through a link: a manifest is often part of a tree that somebody else may change.
using HostRoots = std::vector<std::string>;

// Throws manifest_invalid, naming `where`, when a path that lies below a root by its text is led out of all by a link.
void check_stays_below(const std::string& where, const std::string& path, const HostRoots& roots);
// Looks up fromEnv and fromFile. Throws manifest_invalid naming the key, never a value.
channel::Environment resolve_environment(const std::map<std::string, domain::EnvValue>& env, const HostRoots& roots);
// Throws manifest_invalid for a source that is missing, unreadable, of the wrong kind, or led out of the roots by a link
// or by what a repository borrows from elsewhere.
void check_sources(const std::vector<domain::Seed>& seeds, const HostRoots& roots);
// The profile that security.seccomp names; empty for the engine's own and for none. Throws manifest_invalid.
std::string read_seccomp(const domain::Manifest& manifest, const HostRoots& roots);
// All of the above: what creating a session reads on the host before it changes anything, and a dry run as well.
struct HostInputs {
    channel::Environment env;
    std::string seccomp;
};
HostInputs read_host_inputs(const domain::Manifest& manifest, const HostRoots& roots);
// Puts every seed into the workspace, directories first.
void plant(const channel::Link& link, const std::vector<domain::Seed>& seeds, const GitClones& clones);

} // namespace sandbox::app
