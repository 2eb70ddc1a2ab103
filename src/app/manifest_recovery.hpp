// SPDX-License-Identifier: Apache-2.0
// A session's manifest outlives its row: a copy lies in the session's directory, and where that is gone too, the engine still tells
// what it holds the container to.
//
//   keep_manifest(directory, row.manifest_json); ... const auto recovered = recover_manifest(directory, container);
#pragma once

#include "domain/manifest.hpp"
#include "engine/client.hpp"

#include <map>
#include <string>

namespace sandbox::app {

// Makes the directory and writes the copy (0600): references as references, as the row has it.
void keep_manifest(const std::string& session_directory, const std::string& manifest_json);

struct RecoveredManifest {
    domain::Manifest manifest;
    std::string loss; // why it is not the one that was created, and what follows from that; empty: it is that one
};
// By the copy, else by what an inspect told of the container: without environment, seeds, time-outs and export. Where the session had an
// export.scan, nothing leaves it then.
RecoveredManifest recover_manifest(const std::string& session_directory, const engine::ContainerInfo& container);

// Those that the user gave.
std::map<std::string, std::string> user_labels(const engine::Labels& labels);

} // namespace sandbox::app
