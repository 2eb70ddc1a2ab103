// SPDX-License-Identifier: Apache-2.0
#include "engine/credentials.hpp"

#include "engine/docker_config_json.hpp"
#include "engine/requests.hpp"
#include "util/process.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <optional>

namespace sandbox::engine {
namespace {

// Docker Hub's credentials are kept under this, whatever its host is called today.
constexpr std::string_view k_hub_key = "https://index.docker.io/v1/";
// A helper may ask a key ring, which may ask a person.
constexpr Milliseconds k_helper_timeout{60000};

std::string key_of(std::string_view registry) {
    return std::string(registry == "docker.io" ? k_hub_key : registry);
}

// Old versions of docker wrote URLs where new ones write hosts.
std::string host_of(std::string_view key) {
    if (const auto scheme = key.find("://"); scheme != std::string_view::npos) key = key.substr(scheme + 3);
    return std::string(key.substr(0, key.find('/')));
}

std::optional<Credentials> decode(const Json& entry, const std::string& server) {
    Credentials found{text(entry, "username"), text(entry, "password"), text(entry, "identitytoken"), server};
    if (const auto pair = base64_decode(text(entry, "auth")); pair && !pair->empty()) {
        const auto colon = pair->find(':');
        if (colon == std::string::npos) throw Error(ErrorCode::usage, "docker's config holds a malformed auth for " + printable(server));
        found.username = pair->substr(0, colon);
        found.password = pair->substr(colon + 1);
        // docker pads with NULs.
        found.password.erase(std::min(found.password.find('\0'), found.password.size()));
    }
    if (found.username.empty() && found.identity_token.empty()) return std::nullopt;
    return found;
}

std::optional<Credentials> from_auths(const Json& config, const std::string& key) {
    const Json& auths = field(config, "auths");
    if (!auths.is_object()) return std::nullopt;
    if (const auto exact = auths.find(key); exact != auths.end()) return decode(*exact, key);
    for (const auto& [name, entry] : auths.items()) {
        if (host_of(name) == host_of(key)) return decode(entry, key);
    }
    return std::nullopt;
}

Error helper_failed(const std::string& program, std::string_view why) {
    return Error(ErrorCode::failed, "docker's credential helper " + printable(program) + ": " + std::string(why))
        .hint("repair it, take it out of docker's config.json, or pull the image beforehand");
}

// https://github.com/docker/docker-credential-helpers: "get" with the server on standard input, JSON or an error's text
// on standard output. What it says is in no message, as it may be half a secret.
std::optional<Credentials> from_helper(const std::string& helper, const std::string& key) {
    const std::string program = "docker-credential-" + helper;
    if (helper.find('/') != std::string::npos) throw helper_failed(program, "not the name of a program");
    Captured answer;
    try {
        answer = run_capture({program, "get"}, key, {.timeout = k_helper_timeout});
    } catch (const Error& error) {
        throw helper_failed(program, error.message());
    }
    if (answer.timed_out) throw helper_failed(program, "it did not end within " + format_duration(k_helper_timeout));
    if (!answer.status.success()) {
        if (answer.out.find("credentials not found") != std::string::npos) return std::nullopt;
        throw helper_failed(program, "it failed with status " + std::to_string(answer.status.shell_status()));
    }
    const Json json = Json::parse(answer.out, nullptr, false);
    if (json.is_discarded()) throw helper_failed(program, "its answer is not JSON");
    const std::string user = text(json, "Username");
    if (user == "<token>") return Credentials{{}, {}, text(json, "Secret"), key};
    if (user.empty()) return std::nullopt;
    return Credentials{user, text(json, "Secret"), {}, key};
}

std::optional<Credentials> find_credentials(const Json& config, std::string_view registry) {
    const std::string key = key_of(registry);
    const auto helpers = text_map(config, "credHelpers");
    const auto own = helpers.find(std::string(registry));
    const auto by_key = own != helpers.end() ? own : helpers.find(key);
    if (by_key != helpers.end() && !by_key->second.empty()) return from_helper(by_key->second, key);
    if (const std::string store = text(config, "credsStore"); !store.empty()) return from_helper(store, key);
    return from_auths(config, key);
}

// RFC 4648's alphabet for URLs, which the header wants.
std::string base64_url(std::string_view bytes) {
    std::string encoded = base64_encode(bytes);
    std::ranges::replace(encoded, '+', '-');
    std::ranges::replace(encoded, '/', '_');
    return encoded;
}

} // namespace

std::string registry_auth_header(std::string_view registry) {
    const auto found = find_credentials(read_docker_config(), registry);
    return found ? base64_url(registry_auth_json(*found)) : "";
}

} // namespace sandbox::engine
