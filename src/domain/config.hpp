// SPDX-License-Identifier: Apache-2.0
// A config file: a manifest's tree under `defaults:`, under `ceilings:` what nothing may exceed, under `hooks:` what is run
// when something happens, and under `authorize:` what is asked before a workspace is opened again. It is read as strictly
// as a manifest, and errors show the place in the same way.
//
//   const Config config = parse_config("/etc/sandbox/config.yaml", text, "/etc/sandbox");
#pragma once

#include "domain/yaml.hpp"
#include "util/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

// `exec.ended: [command, argument...]`. What kinds of events there are is not known here.
struct ConfigHook {
    std::string kind;
    YamlMark mark; // of the kind
    std::vector<std::string> command;
};

struct Config {
    YamlNodePtr defaults; // normalised, its keys and values checked
    YamlNodePtr ceilings; // as written; for Ceilings::add
    std::vector<ConfigHook> hooks;
    std::vector<Error> hook_problems; // of the entries under `hooks:` that are none: each keeps only itself from being run
    std::vector<std::string> authorize; // a command and its arguments; empty: nobody is asked
    bool names_host_paths = false; // the defaults may reach files beside the config
};

// Throws manifest_invalid, a wrong hook left out.
Config parse_config(std::string source, std::string_view text, std::string base_directory);

} // namespace sandbox::domain
