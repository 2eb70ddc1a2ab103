// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"
#include "engine/connect.hpp"
#include "engine/credentials.hpp"
#include "util/sha256.hpp"

#include "throws.hpp"
#include "util/fd.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::engine;

namespace {

constexpr std::chrono::milliseconds k_soon{2000};

// Sets a variable for one scope, or unsets it.
class Variable {
  public:
    Variable(const char* name, const char* value) : m_name(name) {
        if (const char* old = std::getenv(name)) m_old = old;
        if (value != nullptr) ::setenv(name, value, 1);
        else ::unsetenv(name);
    }
    ~Variable() {
        if (m_old) ::setenv(m_name, m_old->c_str(), 1);
        else ::unsetenv(m_name);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* m_name;
    std::optional<std::string> m_old;
};

struct CleanEnvironment {
    TempDir directory;
    Variable host{"DOCKER_HOST", nullptr};
    Variable context{"DOCKER_CONTEXT", nullptr};
    Variable tls{"DOCKER_TLS_VERIFY", nullptr};
    Variable unverified{"DOCKER_TLS", nullptr};
    Variable certificates{"DOCKER_CERT_PATH", nullptr};
    Variable runtime{"XDG_RUNTIME_DIR", nullptr};
    Variable podman{"SANDBOX_NO_PODMAN", "1"};
    Variable config{"DOCKER_CONFIG", directory.path().c_str()};
    void write_config(std::string_view text) const {
        AtomicFile file(AT_FDCWD, directory.path() + "/config.json", 0600);
        write_all(file.fd(), text);
        file.publish();
    }
    // As `docker context create` leaves it; its TLS directory, which is made when `has_tls`.
    std::string write_context(const std::string& name, std::string_view endpoint, bool has_tls = false) const {
        const std::string meta = directory.path() + "/contexts/meta/" + sha256_hex(name);
        make_directories(meta, 0700);
        AtomicFile file(AT_FDCWD, meta + "/meta.json", 0600);
        write_all(file.fd(), R"({"Name":")" + name + R"(","Metadata":{},"Endpoints":{"docker":)" + std::string(endpoint) + "}}");
        file.publish();
        std::string tls_directory = directory.path() + "/contexts/tls/" + sha256_hex(name) + "/docker";
        if (has_tls) make_directories(tls_directory, 0700);
        return tls_directory;
    }
};

Fd listen_in(const std::string& directory, const std::string& name) {
    const Fd at(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(at.get()) + "/" + name;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener.get(), 4) == 0);
    return listener;
}

std::string decoded_header(std::string_view registry) {
    std::string header = registry_auth_header(registry);
    for (char& c : header) c = c == '-' ? '+' : c == '_' ? '/' : c;
    return base64_decode(header).value_or("not base64");
}

} // namespace

TEST_CASE("endpoints are parsed and shown in one form") {
    const Endpoint local = Endpoint::parse("unix:///run/x.sock");
    CHECK(local.kind == Endpoint::Kind::unix_socket);
    CHECK(local.path == "/run/x.sock");
    CHECK(local.url == "unix:///run/x.sock");
    const Endpoint remote = Endpoint::parse("tcp://build.example:2376/");
    CHECK(remote.kind == Endpoint::Kind::tcp);
    CHECK(remote.host == "build.example");
    CHECK(remote.port == 2376);
    CHECK(Endpoint::parse("tcp://h").url == "tcp://h:2375");
    CHECK(Endpoint::parse("tcp://[::1]:99").host == "::1");
    CHECK(Endpoint::parse("tcp://[::1]:99").url == "tcp://[::1]:99");
    const Endpoint secure = Endpoint::parse("tls://build.example/?certificates=/etc/my tls?");
    CHECK(secure.kind == Endpoint::Kind::tls);
    CHECK(secure.port == 2376);
    CHECK(secure.certificates == "/etc/my tls?");
    CHECK(secure.address() == "tls://build.example:2376");
    CHECK(Endpoint::parse(secure.url).certificates == secure.certificates);
}

TEST_CASE("what is no endpoint that we speak is a usage error naming it") {
    for (const char* url : {"ssh://user@host", "npipe:////./pipe/docker", "http://h:1", "fd://", "garbage", "/run/x.sock",
                            "unix://", "unix://relative", "unix:///dir/", "tcp://", "tcp://h:0", "tcp://h:70000",
                            "tcp://h:x", "tcp://h:1/path", "tcp://u@h:1", "tcp://[::1", "tcp://[::1]x", "tls://", "tls://h?certificates=relative",
                            "tcp://h?certificates=/x"}) {
        CAPTURE(url);
        const Error error = error_of([&] { Endpoint::parse(url); });
        CHECK(error.code() == ErrorCode::usage);
        CHECK(mentions(error.message(), url));
    }
    CHECK(mentions(error_of([] { Endpoint::parse("ssh://h"); }).message(), "scheme \"ssh\""));
}

TEST_CASE("the flag wins over DOCKER_HOST, and an empty value is no value") {
    const CleanEnvironment clean;
    CHECK(Endpoint::resolve({}).url == "unix:///var/run/docker.sock");
    const Variable host("DOCKER_HOST", "unix:///run/from-env.sock");
    CHECK(Endpoint::resolve({}).path == "/run/from-env.sock");
    CHECK(Endpoint::resolve("unix:///run/flag.sock").path == "/run/flag.sock");
    const Variable empty("DOCKER_HOST", "");
    CHECK(Endpoint::resolve("").url == "unix:///var/run/docker.sock");
}

TEST_CASE("an engine that was asked for is never replaced by the local one") {
    const CleanEnvironment clean;
    {
        const Variable host("DOCKER_HOST", "ssh://builder");
        const Error error = error_of([] { Endpoint::resolve({}); });
        CHECK(error.code() == ErrorCode::usage);
        CHECK(mentions(error.message(), "DOCKER_HOST"));
    }
    {
        const Variable context("DOCKER_CONTEXT", "remote");
        const Error error = error_of([] { Endpoint::resolve({}); });
        CHECK(error.code() == ErrorCode::usage);
        CHECK(mentions(error.message(), "docker's context \"remote\": there is no such context"));
        CHECK(Endpoint::resolve("unix:///run/flag.sock").path == "/run/flag.sock");
    }
    clean.write_config("{\"currentContext\":\"rootless\"}");
    CHECK(mentions(error_of([] { Endpoint::resolve({}); }).message(), "rootless"));
    const Variable chosen("DOCKER_CONTEXT", "default");
    CHECK(Endpoint::resolve({}).url == "unix:///var/run/docker.sock");
}

TEST_CASE("docker's contexts are followed in docker's order") {
    const CleanEnvironment clean;
    clean.write_context("far", R"({"Host":"tcp://far:2375","SkipTLSVerify":false})");
    const std::string tls = clean.write_context("safe", R"({"Host":"tcp://safe.example:2376","SkipTLSVerify":false})", true);
    clean.write_context("rootless", R"({"Host":"unix:///run/user/7/docker.sock"})");
    clean.write_context("here", R"({"SkipTLSVerify":false})");
    clean.write_config("{\"currentContext\":\"far\"}");
    CHECK(Endpoint::resolve({}).url == "tcp://far:2375");
    {
        // DOCKER_TLS_VERIFY speaks of addresses that were given, not of a context.
        const Variable verify("DOCKER_TLS_VERIFY", "1");
        CHECK(Endpoint::resolve({}).url == "tcp://far:2375");
    }
    const Variable chosen("DOCKER_CONTEXT", "safe");
    CHECK(Endpoint::resolve({}).url == "tls://safe.example:2376?certificates=" + tls);
    {
        const Variable other("DOCKER_CONTEXT", "rootless");
        CHECK(Endpoint::resolve({}).path == "/run/user/7/docker.sock");
    }
    {
        const Variable other("DOCKER_CONTEXT", "here");
        CHECK(Endpoint::resolve({}).url == "unix:///var/run/docker.sock");
    }
    const Variable host("DOCKER_HOST", "unix:///run/host.sock");
    CHECK(Endpoint::resolve({}).path == "/run/host.sock");
    CHECK(Endpoint::resolve("unix:///run/flag.sock").path == "/run/flag.sock");
}

TEST_CASE("a context that cannot be followed is an error with a way out") {
    const CleanEnvironment clean;
    clean.write_context("shell", R"({"Host":"ssh://me@builder"})");
    clean.write_context("blind", R"({"Host":"tcp://h:2376","SkipTLSVerify":true})", true);
    clean.write_context("kubernetes", "7");
    const auto failure = [](const char* name) {
        const Variable chosen("DOCKER_CONTEXT", name);
        const Error error = error_of([] { Endpoint::resolve({}); });
        CHECK(error.code() == ErrorCode::usage);
        CHECK(mentions(error.message(), "docker's context \"" + std::string(name) + "\""));
        return error;
    };
    const Error ssh = failure("shell");
    CHECK(mentions(ssh.message(), "\"ssh\" is not supported"));
    CHECK(mentions(ssh.hint(), "ssh -fNL /tmp/engine.sock:/var/run/docker.sock me@builder"));
    CHECK(mentions(failure("blind").message(), "SkipTLSVerify"));
    CHECK(mentions(failure("kubernetes").message(), "no docker endpoint"));
    make_directories(clean.directory.path() + "/contexts/meta/" + sha256_hex("torn"), 0700);
    AtomicFile torn(AT_FDCWD, clean.directory.path() + "/contexts/meta/" + sha256_hex("torn") + "/meta.json", 0600);
    write_all(torn.fd(), "{\"Name\":");
    torn.publish();
    CHECK(mentions(failure("torn").message(), "not JSON"));
}

TEST_CASE("DOCKER_TLS_VERIFY makes TLS of tcp, by any value, with docker's directories") {
    const CleanEnvironment clean;
    const Variable verify("DOCKER_TLS_VERIFY", "0");
    CHECK(Endpoint::resolve("tcp://h").url == "tls://h:2376?certificates=" + clean.directory.path());
    CHECK(Endpoint::resolve("tcp://h:99").port == 99);
    CHECK(Endpoint::resolve("unix:///run/x.sock").url == "unix:///run/x.sock");
    CHECK(Endpoint::resolve({}).url == "tls://localhost:2376?certificates=" + clean.directory.path());
    const Variable certificates("DOCKER_CERT_PATH", "/etc/certs");
    const Variable host("DOCKER_HOST", "tcp://h:2376");
    CHECK(Endpoint::resolve({}).url == "tls://h:2376?certificates=/etc/certs");
    CHECK(Endpoint::resolve("tls://h?certificates=/own").certificates == "/own");
    const Variable no("DOCKER_TLS_VERIFY", "");
    CHECK(Endpoint::resolve({}).url == "tcp://h:2376");
    CHECK(Endpoint::resolve("tls://h").certificates == "/etc/certs");
    const Variable blind("DOCKER_TLS", "1");
    CHECK(error_of([] { Endpoint::resolve({}); }).code() == ErrorCode::usage);
}

TEST_CASE("each way of not reaching an engine has its own hint") {
    const TempDir directory;
    const auto failure = [](const std::string& path) {
        const Error error = error_of([&] { connect_to(Endpoint::parse("unix://" + path), k_soon); });
        CHECK(error.code() == ErrorCode::engine_unreachable);
        CHECK(mentions(error.message(), path));
        return error;
    };
    CHECK(mentions(failure(directory.path() + "/none.sock").hint(), "start the engine"));
    { const Fd listener = listen_in(directory.path(), "dead.sock"); }
    const Error dead = failure(directory.path() + "/dead.sock");
    CHECK(mentions(dead.message(), "though the socket file exists"));
    CHECK(mentions(dead.hint(), "start it again"));
}

TEST_CASE("a socket's path may be longer than an address") {
    const TempDir directory;
    const std::string deep = directory.path() + "/" + std::string(120, 'd');
    make_directories(deep, 0700);
    const Fd listener = listen_in(deep, "e.sock");
    CHECK(connect_to(Endpoint::parse("unix://" + deep + "/e.sock"), k_soon).get() >= 0);
    CHECK(error_of([&] { connect_to(Endpoint::parse("unix://" + deep + "/no.sock"), k_soon); }).code() ==
          ErrorCode::engine_unreachable);
}

TEST_CASE("a listener that accepts nobody is given up after the connect time-out") {
    const TempDir directory;
    const Fd listener = listen_in(directory.path(), "full.sock");
    const Endpoint endpoint = Endpoint::parse("unix://" + directory.path() + "/full.sock");
    std::vector<Fd> waiting;
    const Error error = error_of([&] {
        for (int i = 0; i < 100; ++i) waiting.push_back(connect_to(endpoint, std::chrono::milliseconds(50)));
    });
    CHECK(error.code() == ErrorCode::engine_unreachable);
    CHECK(mentions(error.message(), "50ms"));
}

TEST_CASE("credentials come from docker's config") {
    const CleanEnvironment clean;
    CHECK(registry_auth_header("ghcr.io").empty());
    clean.write_config(R"({"auths":{"https://index.docker.io/v1/":{"auth":"aHViOnM6M2NyZXQ="},
        "https://old.example/v1/":{"username":"u","password":"p"},
        "ghcr.io":{"identitytoken":"tok"},"empty.example":{}}})");
    CHECK(decoded_header("docker.io") ==
          R"({"password":"s:3cret","serveraddress":"https://index.docker.io/v1/","username":"hub"})");
    CHECK(decoded_header("old.example") == R"({"password":"p","serveraddress":"old.example","username":"u"})");
    CHECK(decoded_header("ghcr.io") == R"({"identitytoken":"tok","serveraddress":"ghcr.io"})");
    CHECK(registry_auth_header("empty.example").empty());
    CHECK(registry_auth_header("other.example").empty());
}

TEST_CASE("credential helpers are asked by docker's protocol, and their failures show no secret") {
    const CleanEnvironment clean;
    const std::string& directory = clean.directory.path();
    const Variable path("PATH", (directory + ":/usr/bin:/bin").c_str());
    const auto write_helper = [&](const std::string& name, std::string_view script) {
        AtomicFile file(AT_FDCWD, directory + "/docker-credential-" + name, 0755);
        write_all(file.fd(), "#!/bin/sh\nread -r server; " + std::string(script) + "\n");
        file.publish();
    };
    write_helper("own", R"([ "$1" = get ] && echo "{\"ServerURL\":\"$server\",\"Username\":\"me@$server\",\"Secret\":\"s\"}")");
    write_helper("token", R"(echo '{"Username":"<token>","Secret":"tok"}')");
    write_helper("none", "echo 'credentials not found in native keychain'; exit 1");
    write_helper("broken", "echo 'secret-123'; echo 'secret-123' >&2; exit 1");
    clean.write_config(R"({"credsStore":"none","credHelpers":{"ghcr.io":"own","t.example":"token","b.example":"broken",
        "m.example":"missing","p.example":"../x"},"auths":{"plain.example":{"auth":"dTpw"}}})");
    CHECK(decoded_header("ghcr.io") == R"({"password":"s","serveraddress":"ghcr.io","username":"me@ghcr.io"})");
    CHECK(decoded_header("t.example") == R"({"identitytoken":"tok","serveraddress":"t.example"})");
    CHECK(registry_auth_header("docker.io").empty());
    for (const char* registry : {"b.example", "m.example", "p.example"}) {
        CAPTURE(registry);
        const Error error = error_of([&] { registry_auth_header(registry); });
        CHECK(error.code() == ErrorCode::failed);
        CHECK(mentions(error.message(), "docker-credential-"));
        CHECK_FALSE(mentions(error.message(), "secret"));
    }
}

TEST_CASE("a malformed docker config is an error that shows no secret") {
    const CleanEnvironment clean;
    clean.write_config("{\"auths\": secret");
    const Error broken = error_of([] { registry_auth_header("ghcr.io"); });
    CHECK(broken.code() == ErrorCode::usage);
    CHECK_FALSE(mentions(broken.message(), "secret"));
    clean.write_config(R"({"auths":{"ghcr.io":{"auth":"c2VjcmV0"}}})");
    const Error pair = error_of([] { registry_auth_header("ghcr.io"); });
    CHECK(pair.code() == ErrorCode::usage);
    CHECK_FALSE(mentions(pair.message(), "secret"));
}
