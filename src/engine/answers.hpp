// SPDX-License-Identifier: Apache-2.0
// Reads the JSON of API answers. Tolerant of what engines leave out or send as null, strict about what a decision hangs
// on: a body that is no JSON at all is protocol_error.
//
//   const ContainerInfo container = parse_container(response.body);
#pragma once

#include "engine/client.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::engine {

struct Created {
    std::string id;
    std::vector<std::string> warnings;
};
struct NetworkInfo {
    std::string id;
    std::string name;
    std::map<std::string, std::string> options;
};
struct VersionAnswer {
    std::string version;
    std::string api_version;
    std::string min_api_version;
};
// One object of a pull's or import's progress stream.
struct ProgressItem {
    std::string id;
    std::string status;
    std::string error;
};

Created parse_created(std::string_view body);
ContainerInfo parse_container(std::string_view body);
std::vector<ContainerInfo> parse_container_list(std::string_view body);
VolumeInfo parse_volume(std::string_view body);
std::vector<VolumeInfo> parse_volume_list(std::string_view body);
ImageInfo parse_image(std::string_view body);
NetworkInfo parse_network(std::string_view body);
// All but the API versions, which are not in /info.
EngineInfo parse_info(std::string_view body);
VersionAnswer parse_version(std::string_view body);
// The exit status once the exec is over; absent while it runs, and while the engine says null.
std::optional<int> parse_exec_status(std::string_view body);
ProgressItem parse_progress(std::string_view object);
// The "message" of an error answer; absent when the body is not an engine's error.
std::optional<std::string> parse_error_message(std::string_view body);

} // namespace sandbox::engine
