// SPDX-License-Identifier: Apache-2.0
// fromGit: a shallow clone made by the host's git, ready before the session's first effect. Nothing of the repository runs on the host:
// no hook, no submodule, no ext:: transport; and nobody is asked for a password (credential helpers and ssh agents work).
//
//   const GitClones clones(manifest.seeds, [&] { interrupt.check(); }); plant(link, seeds, clones);
#pragma once

#include "domain/manifest.hpp"
#include "util/fs.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sandbox::app {

class GitClones {
  public:
    GitClones() = default;
    // `check` is called while git works; what it throws ends git and is thrown on. Throws failed with what git said, without
    // what may be a secret in a URL.
    GitClones(const std::vector<domain::Seed>& seeds, const std::function<void()>& check);
    // The directory on the host of one fromGit seed.
    std::string path_of(const domain::Seed& seed) const { return m_clones.at(seed.path).path() + "/clone"; }

  private:
    std::map<std::string, TempDir> m_clones; // by the seed's path
};

// Whether it is a URL or host:path rather than a path of this machine.
bool is_git_url(const std::string& source);

} // namespace sandbox::app
