// SPDX-License-Identifier: Apache-2.0
// The config files that hold for a call.
//
//   for (const ConfigFile& file : call.config_files()) builder.add_config(file.config);
#pragma once

#include "domain/config.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sandbox::cli {

struct ConfigFile {
    std::string path;
    domain::Config config;
};

// /etc/sandbox/config.yaml, whose ceilings hold for everybody, and over it the one of --config or SANDBOX_CONFIG, else
// $XDG_CONFIG_HOME/sandbox/config.yaml (~/.config where it is not set): those that exist, the later over the earlier. Throws
// Error for one that is named and not there, and for one that is there and cannot be read or understood: its ceilings must
// not be lost in silence.
std::vector<ConfigFile> read_config_files(const std::optional<std::string>& config_option);

// The folder of a file as it was named: "." for one without a slash, and for "-", which is standard input.
std::string directory_of(const std::string& path);

} // namespace sandbox::cli
