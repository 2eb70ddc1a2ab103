// SPDX-License-Identifier: Apache-2.0
#include "engine/docker_config.hpp"

#include "engine/docker_config_json.hpp"
#include "util/environment.hpp"
#include "util/fs.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"

#include <unistd.h>

namespace sandbox::engine {
namespace {

constexpr std::size_t k_max_file = 4 << 20;

Error bad_context(const std::string& why) {
    return Error(ErrorCode::usage, why)
        .hint("docker context ls shows what there is; DOCKER_CONTEXT and currentContext in config.json choose; --engine URL does without");
}

} // namespace

std::string docker_config_directory() {
    if (std::string directory = environment("DOCKER_CONFIG"); !directory.empty()) return directory;
    const std::string home = environment("HOME");
    return home.empty() ? "" : home + "/.docker";
}

Json read_docker_config() {
    const std::string directory = docker_config_directory();
    const std::string path = directory + "/config.json";
    const auto content = directory.empty() ? std::nullopt : read_file(path, k_max_file);
    if (!content || content->empty()) return Json::object();
    Json json = Json::parse(*content, nullptr, false);
    if (json.is_discarded()) throw Error(ErrorCode::usage, path + " is not JSON");
    return json;
}

std::string docker_current_context() { return text(read_docker_config(), "currentContext"); }

DockerContext read_docker_context(std::string_view name) {
    const std::string contexts = docker_config_directory() + "/contexts/";
    const std::string id = sha256_hex(name);
    const std::string path = contexts + "meta/" + id + "/meta.json";
    const auto content = read_file(path, k_max_file);
    if (!content) throw bad_context("there is no such context (" + printable(path) + " is missing)");
    const Json json = Json::parse(*content, nullptr, false);
    if (json.is_discarded()) throw bad_context(printable(path) + " is not JSON");
    const Json& endpoint = field(field(json, "Endpoints"), "docker");
    if (!endpoint.is_object()) throw bad_context("it has no docker endpoint");
    DockerContext context{text(endpoint, "Host"), contexts + "tls/" + id + "/docker", flag(endpoint, "SkipTLSVerify")};
    if (::access(context.certificates.c_str(), F_OK) != 0) context.certificates.clear();
    return context;
}

} // namespace sandbox::engine
