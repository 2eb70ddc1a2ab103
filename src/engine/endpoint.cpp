// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <charconv>

namespace sandbox::engine {
namespace {

constexpr std::uint16_t k_tcp_port = 2375;
constexpr std::uint16_t k_tls_port = 2376;
constexpr std::string_view k_certificates = "?certificates=";

Error bad_url(std::string_view url, std::string_view why) {
    return Error(ErrorCode::usage, "engine \"" + printable(url) + "\": " + std::string(why))
        .hint("give unix:///path/to/socket, tcp://host:port or tls://host:port");
}

std::uint16_t parse_port(std::string_view url, std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (failure != std::errc{} || end != text.data() + text.size() || port == 0) throw bad_url(url, "bad port");
    return port;
}

// "host", "host:port" or "[v6]:port"; the port stays 0 where none is given.
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
    if (!rest.empty()) endpoint.port = parse_port(url, rest.substr(1));
}

void name(Endpoint& endpoint) {
    endpoint.url = endpoint.address();
    if (!endpoint.certificates.empty()) endpoint.url += std::string(k_certificates) + endpoint.certificates;
}

Endpoint parse_network(std::string_view url, std::string_view rest, Endpoint::Kind kind) {
    Endpoint endpoint;
    endpoint.kind = kind;
    if (const auto query = rest.find(k_certificates); kind == Endpoint::Kind::tls && query != std::string_view::npos) {
        endpoint.certificates = rest.substr(query + k_certificates.size());
        rest = rest.substr(0, query);
        if (!endpoint.certificates.starts_with('/')) throw bad_url(url, "the certificates' directory must be absolute");
    }
    while (rest.ends_with('/')) rest.remove_suffix(1);
    if (rest.find_first_of("/?#@") != std::string_view::npos) throw bad_url(url, "only host and port are supported");
    parse_authority(url, rest, endpoint);
    if (endpoint.port == 0) endpoint.port = kind == Endpoint::Kind::tls ? k_tls_port : k_tcp_port;
    name(endpoint);
    return endpoint;
}

Endpoint parse_socket(std::string_view url, std::string_view path) {
    if (!path.starts_with('/') || path.ends_with('/')) throw bad_url(url, "the socket's path must be absolute");
    if (path.find('\0') != std::string_view::npos) throw bad_url(url, "bad path");
    Endpoint endpoint;
    endpoint.path = path;
    name(endpoint);
    return endpoint;
}

Error no_ssh(std::string_view url, std::string_view host) {
    const std::string destination = host.empty() ? "USER@HOST" : printable(host.substr(0, host.find('/')));
    return Error(ErrorCode::usage, "engine \"" + printable(url) + "\": the scheme \"ssh\" is not supported")
        .hint("forward the engine's socket and use that: ssh -fNL /tmp/engine.sock:/var/run/docker.sock " + destination +
              "; --engine unix:///tmp/engine.sock");
}

} // namespace

std::string Endpoint::address() const {
    if (kind == Kind::unix_socket) return "unix://" + path;
    const bool is_v6 = host.find(':') != std::string::npos;
    return (kind == Kind::tls ? "tls://" : "tcp://") + (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Endpoint Endpoint::parse(std::string_view url) {
    const auto colon = url.find("://");
    if (colon == std::string_view::npos) throw bad_url(url, "no scheme");
    const std::string_view scheme = url.substr(0, colon);
    const std::string_view rest = url.substr(colon + 3);
    if (scheme == "unix") return parse_socket(url, rest);
    if (scheme == "tcp") return parse_network(url, rest, Kind::tcp);
    if (scheme == "tls") return parse_network(url, rest, Kind::tls);
    if (scheme == "ssh") throw no_ssh(url, rest);
    throw bad_url(url, "the scheme \"" + printable(scheme) + "\" is not supported");
}

Endpoint Endpoint::parse_for_tls(std::string_view url, const std::string& certificates) {
    const bool is_tcp = url.starts_with("tcp://");
    Endpoint endpoint = is_tcp ? parse_network(url, url.substr(std::string_view("tcp://").size()), Kind::tls) : parse(url);
    if (endpoint.kind != Kind::tls || !endpoint.certificates.empty()) return endpoint;
    if (!certificates.starts_with('/')) throw bad_url(url, "the certificates' directory must be absolute");
    endpoint.certificates = certificates;
    name(endpoint);
    return endpoint;
}

} // namespace sandbox::engine
