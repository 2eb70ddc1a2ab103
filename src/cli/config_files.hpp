// SPDX-License-Identifier: Apache-2.0
// The config files that hold for a call.
//
//   for (const ConfigFile& file : config_files(call)) builder.add_config(file.path, file.text, ...);
#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace sandbox::cli {

struct ConfigFile {
    std::string path;
    std::string text;
};

// --config or SANDBOX_CONFIG alone; else /etc/sandbox/config.yaml, then $XDG_CONFIG_HOME/sandbox/config.yaml
// (~/.config where it is not set), those that exist, the later over the earlier. Throws Error for one that is named and
// not there, and for one that is there and cannot be read: its ceilings must not be lost in silence.
std::vector<ConfigFile> config_files(const Invocation& call);

} // namespace sandbox::cli
