// SPDX-License-Identifier: Apache-2.0
// All problems at once, the key that was meant, and where each value comes from.
#include "domain/config.hpp"
#include "domain/manifest.hpp"
#include "domain/manifest_starter.hpp"
#include "domain/yaml.hpp"

#include "expect_error.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace sandbox::domain;
using namespace sandbox::tests;

namespace {

std::vector<std::string> lines_with_problems(const std::string& text) {
    ManifestBuilder builder;
    builder.add_document("m.yaml", text, "/project");
    std::vector<std::string> lines;
    for (const auto& problem : builder.problems()) {
        const auto place = place_of(problem);
        lines.push_back(place ? std::to_string(place->line) : problem.message());
    }
    return lines;
}

EffectiveValue value_of(const ManifestBuilder& builder, const std::string& path) {
    for (const auto& value : builder.values()) {
        if (value.path == path) return value;
    }
    return {};
}

} // namespace

TEST_CASE("a check finds every problem, in the order of the lines") {
    CHECK(lines_with_problems("image: x\n").empty());
    CHECK(lines_with_problems("pull: now\nimage: [x]\nlimits: {pids: 0, cpus: 0}\n") == std::vector<std::string>{"1", "2", "3", "3"});
    CHECK(lines_with_problems("pull: never\n") == std::vector<std::string>{"no image is given"});
}

TEST_CASE("rules between keys are told only where their keys are good") {
    CHECK(lines_with_problems("image: x\npublish: [80]\nworkspace: {shared: true}\n") == std::vector<std::string>{"2", "3"});
    CHECK(lines_with_problems("image: x\npublish: [80]\nnetwork: brigde\n") == std::vector<std::string>{"3"});
    CHECK(lines_with_problems("image: x\nlimits: {timeout: 2h}\nlifecycle: {ttl: soon}\n") == std::vector<std::string>{"3"});
}

TEST_CASE("a place is taken out of a message as it was put in") {
    const auto place = place_of(located(YamlMark{std::make_shared<YamlSource>(YamlSource{"a:b.yaml", "x: \xC3\xA4 y\n", ""}), 0, 6}, "bad: 1:2"));
    REQUIRE(place);
    CHECK(place->file == "a:b.yaml");
    CHECK(place->line == 1);
    CHECK(place->column == 6);
    CHECK(place->message == "bad: 1:2");
    CHECK(!place_of(sandbox::Error(sandbox::ErrorCode::failed, "at 12:30")));
}

TEST_CASE("the key that was meant") {
    CHECK(nearest_key("limits.memroy") == "limits.memory");
    CHECK(nearest_key("memory") == "limits.memory");
    CHECK(nearest_key("mem_limit") == "limits.memory");
    CHECK(nearest_key("idleTimeot") == "lifecycle.idleTimeout");
    CHECK(!nearest_key("somethingelseentirely"));
    CHECK(find_key_of("files.run.sh.mode")->path == "files.*.mode");
    CHECK(find_key_of("env.LANG")->path == "env");
    CHECK(find_key_of("metadata.jobId")->path == "labels");
    CHECK(find_key_of("limits.nothing") == nullptr);
}

TEST_CASE("each value knows who said it") {
    ManifestBuilder builder;
    builder.add_config(parse_config("/etc/c.yaml", "defaults:\n  limits: {pids: 10, memory: 64MB}\n", "/etc"));
    builder.add_document("m.yaml", "image: x\nlimits:\n  pids: 20\n  memory: 32MB\nenv: {A: hidden, B: {fromEnv: C}}\n", "/project");
    builder.set("limits.memory", "16MB", "--memory");
    CHECK(value_of(builder, "limits.memory").value == "16MB");
    CHECK(value_of(builder, "limits.memory").origin == "--memory");
    CHECK(value_of(builder, "limits.pids").origin == "m.yaml:3");
    CHECK(value_of(builder, "limits.cpus").origin.empty());
    CHECK(value_of(builder, "env.A").value == "(literal)");
    CHECK(value_of(builder, "env.B").value == R"({"fromEnv":"C"})");
}

TEST_CASE("the starter manifest holds") {
    ManifestBuilder builder;
    builder.add_document("m.yaml", starter_manifest("/x/schema.json"), "/project");
    CHECK(builder.problems().empty());
    CHECK(builder.build().image == "sandbox/base:latest");
}
