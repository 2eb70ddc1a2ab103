// SPDX-License-Identifier: Apache-2.0
// How a path that a client named is resolved inside the container: confined when it is in the workdir by its text, else as
// by any program there.
//
//   const Location location = locate("/workspace", "/workspace/out/a.txt");   // out/a.txt, beneath the workdir
#pragma once

#include "util/tree_path.hpp"

#include <string>

namespace sandbox::agent {

struct Location {
    PathBase base;
    std::string path;
};

// Throws Error when the workdir cannot be opened.
Location locate(const std::string& workdir, const std::string& path);
PathBase workdir_base(const std::string& workdir);

} // namespace sandbox::agent
