// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "engine/credentials.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <charconv>
#include <cstdlib>

namespace sandbox::engine {
namespace {

constexpr std::string_view k_default_url = "unix:///var/run/docker.sock";
constexpr std::uint16_t k_default_tcp_port = 2375;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

Error bad_url(std::string_view url, std::string_view why) {
    return Error(ErrorCode::usage, "engine \"" + printable(url) + "\": " + std::string(why))
        .hint("give unix:///path/to/socket or tcp://host:port");
}

std::uint16_t parse_port(std::string_view url, std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (failure != std::errc{} || end != text.data() + text.size() || port == 0) throw bad_url(url, "bad port");
    return port;
}

// "host", "host:port" or "[v6]:port".
void parse_authority(std::string_view url, std::string_view text, Endpoint& endpoint) {
    std::string_view rest;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == std::string_view::npos) throw bad_url(url, "no closing bracket");
        endpoint.host = text.substr(1, close - 1);
        rest = text.substr(close + 1);
    } else {
        const auto colon = text.find(':');
        endpoint.host = text.substr(0, colon);
        if (colon != std::string_view::npos) rest = text.substr(colon);
    }
    if (endpoint.host.empty()) throw bad_url(url, "no host");
    if (!rest.empty() && rest[0] != ':') throw bad_url(url, "text after the address");
    endpoint.port = rest.empty() ? k_default_tcp_port : parse_port(url, rest.substr(1));
}

Endpoint parse_tcp(std::string_view url, std::string_view rest) {
    // Never in the clear where TLS was asked for.
    if (!environment("DOCKER_TLS_VERIFY").empty()) {
        throw Error(ErrorCode::usage, "engine \"" + printable(url) + "\": DOCKER_TLS_VERIFY is set, and TLS is not supported yet")
            .hint("forward the engine's unix socket (ssh -L /run/user/1000/engine.sock:/var/run/docker.sock HOST) and use that");
    }
    Endpoint endpoint;
    endpoint.kind = Endpoint::Kind::tcp;
    while (rest.ends_with('/')) rest.remove_suffix(1);
    if (rest.find_first_of("/?#@") != std::string_view::npos) throw bad_url(url, "only host and port are supported");
    parse_authority(url, rest, endpoint);
    const bool v6 = endpoint.host.find(':') != std::string::npos;
    endpoint.url = "tcp://" + (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
    return endpoint;
}

// docker would go to the engine of its context here; going to the local socket instead would be the wrong engine.
void refuse_docker_context() {
    const std::string chosen = environment("DOCKER_CONTEXT");
    const std::string context = chosen.empty() ? docker_current_context() : chosen;
    if (context.empty() || context == "default") return;
    throw Error(ErrorCode::usage, "docker's context is \"" + printable(context) + "\", and contexts are not supported yet")
        .hint("give that engine's address: --engine unix:///path/to/socket (docker context inspect shows it)");
}

} // namespace

Endpoint Endpoint::parse(std::string_view url) {
    const auto colon = url.find("://");
    if (colon == std::string_view::npos) throw bad_url(url, "no scheme");
    const std::string_view scheme = url.substr(0, colon);
    const std::string_view rest = url.substr(colon + 3);
    if (scheme == "tcp") return parse_tcp(url, rest);
    if (scheme != "unix") throw bad_url(url, "the scheme \"" + printable(scheme) + "\" is not supported");
    if (!rest.starts_with('/') || rest.ends_with('/')) throw bad_url(url, "the socket's path must be absolute");
    if (rest.find('\0') != std::string_view::npos) throw bad_url(url, "bad path");
    Endpoint endpoint;
    endpoint.path = rest;
    endpoint.url = url;
    return endpoint;
}

Endpoint Endpoint::resolve(const std::optional<std::string>& flag) {
    if (flag && !flag->empty()) return parse(*flag);
    if (const std::string host = environment("DOCKER_HOST"); !host.empty()) {
        try {
            return parse(host);
        } catch (Error& error) {
            error.context("DOCKER_HOST");
            throw;
        }
    }
    refuse_docker_context();
    return parse(k_default_url);
}

} // namespace sandbox::engine
