// SPDX-License-Identifier: Apache-2.0
#include "engine/answers.hpp"
#include "engine/api_version.hpp"
#include "engine/failure.hpp"
#include "engine/image_reference.hpp"
#include "engine/matches.hpp"
#include "engine/requests.hpp"

#include "throws.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace sandbox;
using namespace sandbox::engine;
using Json = nlohmann::json;

namespace {

Response answer(int status, std::string body) { return {status, std::move(body), {}}; }

} // namespace

TEST_CASE("the version is the newest that both speak") {
    CHECK(choose_version({{1, 12}, {1, 41}}) == ApiVersion{1, 41});
    CHECK(choose_version({{1, 44}, {1, 52}}) == ApiVersion{1, 47});
    CHECK(choose_version({{1, 24}, {1, 40}}) == ApiVersion{1, 40});
    CHECK(parse_api_version("1.9") < parse_api_version("1.41"));
    for (const char* text : {"", "1", "1.", ".1", "x.1", "1.41x", "1.4.1"}) CHECK_FALSE(parse_api_version(text));
}

TEST_CASE("an engine too old or too new is an error with both ranges") {
    const Error old = error_of([] { choose_version({{1, 12}, {1, 20}}); });
    CHECK(old.code() == ErrorCode::engine_error);
    CHECK(mentions(old.message(), "1.12 to 1.20"));
    CHECK(mentions(old.message(), "1.35 to 1.47"));
    CHECK(mentions(old.hint(), "newer engine"));
    CHECK(mentions(error_of([] { choose_version({{1, 60}, {1, 70}}); }).hint(), "newer sandbox"));
}

TEST_CASE("a container is asked for with everything said explicitly") {
    ContainerSpec spec;
    spec.image = "busybox";
    spec.entrypoint = {"/.sandbox/sandbox-agent"};
    spec.memory = 1 << 30;
    spec.cpus = 0.1;
    spec.pids = 64;
    spec.auto_remove = true;
    spec.readonly_rootfs = true;
    spec.cap_drop = {"ALL"};
    spec.publish = {5173};
    spec.runtime = "runc";
    spec.mounts = {{.kind = Mount::Kind::bind, .source = "/host", .target = "/in", .read_only = true},
                   {.target = "/workspace", .volume_labels = {{"sandbox.role", "workspace"}}},
                   {.kind = Mount::Kind::tmpfs, .target = "/tmp", .tmpfs_size = 64 << 20}};
    const Json json = Json::parse(create_container_body(spec));
    CHECK(json["Entrypoint"] == Json{"/.sandbox/sandbox-agent"});
    CHECK(json["Cmd"] == Json::array());
    CHECK(json["Healthcheck"]["Test"] == Json{"NONE"});
    CHECK(json["StopTimeout"] == 1);
    CHECK(json["NetworkDisabled"] == false);
    CHECK(json["ExposedPorts"] == Json{{"5173/tcp", Json::object()}});
    const Json& host = json["HostConfig"];
    CHECK(host["LogConfig"]["Type"] == "none");
    CHECK(host["Init"] == false);
    CHECK(host["NetworkMode"] == "none");
    CHECK(host["Memory"] == host["MemorySwap"]);
    CHECK(host["NanoCpus"] == 100000000);
    CHECK(host["PidsLimit"] == 64);
    CHECK(host["AutoRemove"] == true);
    CHECK(host["CapDrop"] == Json{"ALL"});
    CHECK(host["Runtime"] == "runc");
    CHECK(host["PortBindings"]["5173/tcp"] == Json::parse(R"([{"HostIp":"127.0.0.1","HostPort":""}])"));
    CHECK(host["Tmpfs"]["/tmp"] == "rw,nosuid,nodev,exec,size=67108864,mode=1777");
    CHECK(host["Mounts"].size() == 2);
    CHECK(host["Mounts"][0] == Json::parse(R"({"Type":"bind","Source":"/host","Target":"/in","ReadOnly":true})"));
    CHECK_FALSE(host["Mounts"][1].contains("Source"));
    CHECK(host["Mounts"][1]["VolumeOptions"]["Labels"]["sandbox.role"] == "workspace");
    CHECK_FALSE(host.contains("Binds"));
    CHECK_FALSE(host.contains("OomScoreAdj"));
}

TEST_CASE("a program without an entrypoint becomes the entrypoint, and limits that are not set are not sent") {
    ContainerSpec spec;
    spec.command = {"sleep", "1"};
    const Json json = Json::parse(create_container_body(spec));
    CHECK(json["Entrypoint"] == Json{"sleep"});
    CHECK(json["Cmd"] == Json{"1"});
    for (const char* limit : {"Memory", "MemorySwap", "NanoCpus", "PidsLimit", "Runtime"}) CHECK_FALSE(json["HostConfig"].contains(limit));
}

TEST_CASE("text that is not UTF-8 is refused, not changed") {
    CHECK(error_of([] { create_volume_body("v", {{"a", "\xff"}}); }).code() == ErrorCode::usage);
}

TEST_CASE("law 5: a list without a filter is refused") {
    CHECK(error_of([] { filters_json({}); }).code() == ErrorCode::internal);
    Filter filter;
    filter.labels = {{"a", "1"}, {"b", ""}};
    filter.volume = "v";
    CHECK(Json::parse(filters_json(filter)) == Json::parse(R"({"label":["a=1","b"],"volume":["v"]})"));
}

TEST_CASE("law 5: names and volumes match exactly, labels all of them") {
    ContainerInfo container;
    container.name = "sandbox-web";
    container.labels = {{"a", "1"}, {"b", "x"}};
    container.mounts = {{"volume", "data", "/data", true}, {"bind", "", "/host", true}};
    const auto fits = [&](Labels labels, std::string volume, std::string name) {
        return matches(Filter{std::move(labels), std::move(volume), std::move(name)}, container);
    };
    CHECK(fits({{"a", "1"}, {"b", ""}}, "data", "sandbox-web"));
    CHECK_FALSE(fits({}, "", "sandbox-we"));
    CHECK_FALSE(fits({}, "", "web"));
    CHECK_FALSE(fits({}, "dat", ""));
    CHECK_FALSE(fits({}, "/host", ""));
    CHECK_FALSE(fits({{"a", "2"}}, "", ""));
    CHECK_FALSE(fits({{"c", ""}}, "", ""));
    CHECK_FALSE(matches(Filter{{}, "", "v"}, VolumeInfo{"v2", "", {}}));
}

TEST_CASE("a container's inspect is read, with nulls where engines put them") {
    const ContainerInfo info = parse_container(R"({"Id":"abc","Name":"/web","Created":"2026-01-01T00:00:00Z",
        "State":{"Status":"exited","Running":false,"Paused":false,"OOMKilled":true,"ExitCode":137,"Error":"e","FinishedAt":"f"},
        "Config":{"Image":"busybox","User":"1000","Labels":{"a":"b"}},"HostConfig":{"AutoRemove":true},
        "Mounts":[{"Type":"volume","Name":"v","Destination":"/w","RW":false}],
        "NetworkSettings":{"Ports":{"80/tcp":[{"HostIp":"127.0.0.1","HostPort":"32768"}],"81/tcp":null,"53/udp":[{"HostPort":"9"}]}}})");
    CHECK(info.name == "web");
    CHECK(info.oom_killed);
    CHECK(info.exit_code == 137);
    CHECK(info.settings.auto_remove);
    CHECK(info.labels == Labels{{"a", "b"}});
    CHECK(info.mounts.at(0).name == "v");
    CHECK_FALSE(info.mounts.at(0).read_write);
    CHECK(info.ports == std::map<std::uint16_t, std::uint16_t>{{80, 32768}});
    const ContainerInfo bare = parse_container(R"({"Id":"abc","State":null,"Config":{"Labels":null},"Mounts":null,"NetworkSettings":{"Ports":null}})");
    CHECK(bare.labels.empty());
    CHECK_FALSE(bare.settings.auto_remove);
    CHECK(parse_container(R"({"Id":"a","State":{"Status":"configured"}})").status == "created");
    CHECK(error_of([] { parse_container("{}"); }).code() == ErrorCode::protocol_error);
    CHECK(error_of([] { parse_container("<html>"); }).code() == ErrorCode::protocol_error);
}

TEST_CASE("lists are read; a null list is empty, another shape an error") {
    const auto list = parse_container_list(R"([{"Id":"1","Names":["/other/alias","/web"],"State":"paused","Created":1767225600,
        "Labels":null,"Mounts":[{"Type":"volume","Name":"v","Destination":"/w","RW":true}],
        "Ports":[{"IP":"127.0.0.1","PrivatePort":80,"PublicPort":32768,"Type":"tcp"},{"PrivatePort":81,"Type":"tcp"}]}])");
    CHECK(list.at(0).name == "web");
    CHECK(list.at(0).paused);
    CHECK(list.at(0).running);
    CHECK(list.at(0).created_at == "2026-01-01T00:00:00Z");
    CHECK(list.at(0).ports.size() == 1);
    CHECK(parse_container_list("null").empty());
    CHECK(parse_container_list("[]").empty());
    CHECK(error_of([] { parse_container_list("{}"); }).code() == ErrorCode::protocol_error);
    CHECK(parse_volume_list(R"({"Volumes":null,"Warnings":null})").empty());
    CHECK(parse_volume_list(R"({"Volumes":[{"Name":"v","Labels":null}]})").at(0).name == "v");
    CHECK(error_of([] { parse_volume_list("[]"); }).code() == ErrorCode::protocol_error);
}

TEST_CASE("law 8: an exec's status is a number of an exec that is over, or nothing") {
    CHECK(parse_exec_status(R"({"Running":false,"ExitCode":3})") == 3);
    CHECK_FALSE(parse_exec_status(R"({"Running":true,"ExitCode":null})"));
    CHECK_FALSE(parse_exec_status(R"({"Running":true,"ExitCode":0})"));
    CHECK_FALSE(parse_exec_status(R"({"Running":false,"ExitCode":null})"));
    CHECK_FALSE(parse_exec_status("{}"));
    CHECK_FALSE(parse_exec_status(R"({"ExitCode":0})"));
}

TEST_CASE("law 3: only the engine's 404 about such an object is absence") {
    CHECK(is_absent(answer(404, R"({"message":"No such container: abc"})"), "container"));
    CHECK(is_absent(answer(404, R"({"cause":"no such volume","message":"no volume with name \"x\" found: no such volume","response":404})"), "volume"));
    CHECK(is_absent(answer(404, R"({"message":"network x not found"})"), "network"));
    CHECK_FALSE(is_absent(answer(404, R"({"message":"page not found"})"), "container"));
    CHECK_FALSE(is_absent(answer(404, "404 page not found\n"), "container"));
    CHECK_FALSE(is_absent(answer(404, "<html>no such container</html>"), "container"));
    CHECK_FALSE(is_absent(answer(404, ""), "container"));
    CHECK_FALSE(is_absent(answer(500, R"({"message":"No such container: abc"})"), "container"));
    CHECK_FALSE(is_absent(answer(200, R"({"message":"No such container: abc"})"), "container"));
}

TEST_CASE("engine errors get codes from their words, whatever the status") {
    const auto code = [](int status, const char* message) { return failure(answer(status, Json{{"message", message}}.dump()), "x").code(); };
    CHECK(code(409, "Conflict. The container name \"/web\" is already in use by container \"abc\".") == ErrorCode::exists);
    CHECK(code(500, "creating container storage: the container name \"web\" is already in use by abc") == ErrorCode::exists);
    CHECK(code(404, "No such image: nosuch:latest") == ErrorCode::image_not_found);
    CHECK(code(500, "driver failed: Bind for 127.0.0.1:80 failed: port is already allocated") == ErrorCode::conflict);
    CHECK(code(500, "write /var/lib/x: no space left on device") == ErrorCode::no_space);
    CHECK(code(400, "invalid mount config for type \"bind\": bind source path does not exist: /x") == ErrorCode::not_found);
    CHECK(code(409, "container abc is not running") == ErrorCode::conflict);
    CHECK(code(404, "No such container: abc") == ErrorCode::not_found);
    CHECK(code(500, "something broke") == ErrorCode::engine_error);
    CHECK(failure(answer(404, "page not found"), "x").code() == ErrorCode::engine_error);
    const Error image = failure(answer(404, R"({"message":"No such image: a"})"), "cannot create container c");
    CHECK(image.message() == "cannot create container c: No such image: a");
    CHECK(mentions(image.hint(), "image bootstrap"));
    CHECK(failure(answer(500, Json{{"message", "red \x1b[31m\n"}}.dump()), "x").message() == "x: red \\x1b[31m\\n");
    CHECK(failure(answer(502, "Bad Gateway"), "x").message() == "x: HTTP status 502: Bad Gateway");
    CHECK(failure(answer(404, "\n<!DOCTYPE HTML><p>none"), "x").message() == "x: HTTP status 404 and a web page, which no engine sends");
}

TEST_CASE("an engine's info is read, its limits that are off are warnings") {
    const EngineInfo docker = parse_info(R"({"ID":"AB:CD","ServerVersion":"20.10.24","Architecture":"x86_64","DefaultRuntime":"runc",
        "CgroupVersion":"1","MemoryLimit":true,"PidsLimit":false,"Warnings":["WARNING: No swap limit support"],"SecurityOptions":["name=seccomp"]})");
    CHECK(docker.id == "AB:CD");
    CHECK_FALSE(docker.rootless);
    CHECK(docker.warnings.size() == 2);
    const EngineInfo podman = parse_info(R"({"ID":"changes","BuildahVersion":"1.28","Name":"h","DockerRootDir":"/s","Architecture":"amd64",
        "Rootless":true,"CgroupVersion":"1","Warnings":null})");
    CHECK(podman.id == "podman:h:/s");
    CHECK(podman.architecture == "x86_64");
    CHECK(podman.rootless);
    CHECK(podman.warnings.size() == 1);
    CHECK(error_of([] { parse_info("{}"); }).code() == ErrorCode::protocol_error);
}

TEST_CASE("an error inside a progress stream is found in each of its shapes") {
    CHECK(parse_progress(R"({"error":"e"})").error == "e");
    CHECK(parse_progress(R"({"errorDetail":{"message":"d"}})").error == "d");
    CHECK(parse_progress(R"({"errorDetail":{"code":1}})").error == "unknown error");
    CHECK(parse_progress(R"({"status":"Pulling","id":"x"})").error.empty());
}

TEST_CASE("image names come apart like docker's") {
    const auto parts = [](const char* text) { return parse_image_reference(text); };
    CHECK(parts("node").tag == "latest");
    CHECK(parts("node").registry == "docker.io");
    CHECK(parts("acme/app:1").registry == "docker.io");
    CHECK(parts("acme/app:1").name == "acme/app");
    CHECK(parts("localhost/app").registry == "localhost");
    CHECK(parts("localhost:5000/app").name == "localhost:5000/app");
    CHECK(parts("localhost:5000/app").tag == "latest");
    CHECK(parts("ghcr.io/acme/app:2@sha256:ab").digest == "sha256:ab");
    CHECK(parts("ghcr.io/acme/app:2@sha256:ab").tag == "2");
    CHECK(parts("ghcr.io/acme/app@sha256:ab").tag.empty());
    CHECK(parts("ghcr.io/acme/app@sha256:ab").registry == "ghcr.io");
    for (const char* bad : {"", ":tag", "a b", "a:", "a@", "a\n"}) {
        CAPTURE(bad);
        CHECK(error_of([&] { parse_image_reference(bad); }).code() == ErrorCode::usage);
    }
}

TEST_CASE("a small archive is what POSIX says") {
    const std::string tar = tar_of("agent", "content", 0111, 65534, 4000000000U);
    CHECK(tar.size() == 4 * 512);
    CHECK(tar.substr(0, 6) == std::string("agent\0", 6));
    CHECK(tar.substr(100, 8) == std::string("0000111\0", 8));
    CHECK(tar.substr(108, 8) == std::string("0177776\0", 8));
    CHECK(tar.substr(116, 8) == std::string("\x80\0\0\0\xee\x6b\x28\0", 8));
    CHECK(tar.substr(124, 12) == std::string("00000000007\0", 12));
    CHECK(tar[156] == '0');
    CHECK(tar.substr(257, 8) == std::string("ustar\00000", 8));
    CHECK(tar.substr(512, 8) == std::string("content\0", 8));
    const std::string directory = tar_of("d", "", 0755, 0, 0, true);
    CHECK(directory.size() == 3 * 512);
    CHECK(directory.starts_with("d/"));
    CHECK(directory[156] == '5');
    CHECK(error_of([] { tar_of(std::string(101, 'x'), "", 0, 0, 0); }).code() == ErrorCode::internal);
}
