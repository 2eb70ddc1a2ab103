// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "engine/docker_config.hpp"
#include "engine/podman.hpp"
#include "util/environment.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <filesystem>
#include <unistd.h>

namespace sandbox::engine {
namespace {

constexpr std::string_view k_default_socket = "/var/run/docker.sock";
constexpr std::string_view k_default_tls_url = "tcp://localhost:2376";

// As docker: any value asks for it, "0" too.
bool wants_tls() {
    if (!environment("DOCKER_TLS_VERIFY").empty()) return true;
    if (environment("DOCKER_TLS").empty()) return false;
    throw Error(ErrorCode::usage, "DOCKER_TLS asks for TLS without a check of the engine's certificate, which sandbox does not do")
        .hint("set DOCKER_TLS_VERIFY=1, and put the authority's certificate in DOCKER_CERT_PATH/ca.pem");
}

std::string certificates_directory() {
    const std::string chosen = environment("DOCKER_CERT_PATH");
    const std::string directory = chosen.empty() ? docker_config_directory() : chosen;
    // A row keeps it, so it has to mean the same from everywhere.
    if (directory.empty() || directory.starts_with('/')) return directory;
    return (std::filesystem::current_path() / directory).lexically_normal().string();
}

Endpoint parse_given(std::string_view url) {
    if (url.starts_with("tls://") || (url.starts_with("tcp://") && wants_tls())) {
        return Endpoint::parse_for_tls(url, certificates_directory());
    }
    return Endpoint::parse(url);
}

bool is_missing(const std::string& path) { return ::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR); }

// The docker CLI knows a rootless engine only by a context or DOCKER_HOST. Without either, and without a default socket,
// it can be nothing but the one that was meant. A socket that is there and does not answer is an engine in trouble, not
// a reason to go to another one.
Endpoint default_endpoint() {
    if (wants_tls()) return parse_given(k_default_tls_url);
    const std::string local(k_default_socket);
    const std::string runtime = environment("XDG_RUNTIME_DIR");
    const std::string rootless = runtime + "/docker.sock";
    if (!is_missing(local)) return Endpoint::parse("unix://" + local);
    if (runtime.starts_with('/') && !is_missing(rootless)) return Endpoint::parse("unix://" + rootless);
    return Endpoint::parse("unix://" + podman_socket().value_or(local));
}

Endpoint endpoint_of_context(const std::string& name) {
    const DockerContext context = read_docker_context(name);
    if (context.host.empty()) return default_endpoint();
    if (context.skips_verification) {
        throw Error(ErrorCode::usage, "the engine's certificate is not to be checked (SkipTLSVerify), which sandbox does not do")
            .hint("put the authority's certificate in the context: docker context update NAME --docker host=...,ca=ca.pem,cert=cert.pem,key=key.pem");
    }
    return context.certificates.empty() ? Endpoint::parse(context.host) : Endpoint::parse_for_tls(context.host, context.certificates);
}

template <typename Make>
Endpoint from(std::string_view origin, Make make) {
    try {
        return make();
    } catch (Error& error) {
        error.context(origin);
        throw;
    }
}

} // namespace

// The order of the docker CLI (resolveContextName in docker/cli): an address in hand beats every context.
Endpoint Endpoint::resolve(const std::optional<std::string>& flag) {
    if (flag && !flag->empty()) return parse_given(*flag);
    if (const std::string host = environment("DOCKER_HOST"); !host.empty()) {
        return from("DOCKER_HOST", [&] { return parse_given(host); });
    }
    const std::string chosen = environment("DOCKER_CONTEXT");
    const std::string name = chosen.empty() ? docker_current_context() : chosen;
    if (name.empty() || name == "default") return default_endpoint();
    return from("docker's context \"" + printable(name) + "\"", [&] { return endpoint_of_context(name); });
}

} // namespace sandbox::engine
