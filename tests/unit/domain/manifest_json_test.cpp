// SPDX-License-Identifier: Apache-2.0
#include "domain/manifest.hpp"

#include "domain/manifest_json.hpp"
#include "expect_error.hpp"
#include "util/fs.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace sandbox::domain;
using namespace sandbox::tests;

namespace {

// Each field away from its default.
Manifest full() {
    Manifest m;
    m.name = "job";
    m.image = "img:1";
    m.pull = PullPolicy::never;
    m.workdir = "/srv";
    m.user = "u:g";
    m.workspace = {WorkspaceMode::persistent, "p", true, true, true, false};
    m.labels = {{"a", "1"}, {"b.c", "\xC3\xBC"}};
    m.env = {{"A", {EnvValue::Kind::literal, "x\ny"}}, {"B", {EnvValue::Kind::from_env, "H"}},
             {"C", {EnvValue::Kind::from_file, "/abs/f"}}, {"D", {EnvValue::Kind::literal, "\xFF"}}};
    Seed directory{"cache", Seed::Kind::directory, "", 0700, {}, ""};
    Seed binary{"bin", Seed::Kind::text, std::string("\0\xFF", 2), 04755, {}, ""};
    Seed tree{"src", Seed::Kind::from_dir, "/abs/src", std::nullopt, {".git"}, ""};
    Seed file{"src/f", Seed::Kind::from_file, "../f", 0600, {}, ""};
    Seed git{"src/g", Seed::Kind::from_git, "https://h/r", std::nullopt, {}, "v1"};
    Seed link{"src/l", Seed::Kind::symlink, "../x", std::nullopt, {}, ""};
    Seed text{"src/t", Seed::Kind::text, "t\n", std::nullopt, {}, ""};
    Seed archive{"src/v", Seed::Kind::from_archive, "v.tar", std::nullopt, {}, ""};
    m.seeds = {directory, binary, tree, file, git, link, text, archive};
    m.limits = {Milliseconds(1500), 1, 2, 7ULL << 20, 0.25, 9, 0};
    m.network = NetworkMode::bridge;
    m.publish = {80, 443};
    m.tmpfs = {{"/tmp", 12345}};
    m.security = {true, false, {"KILL"}, {"CHOWN"}, "/abs/p.json", "runsc"};
    m.lifecycle = {std::chrono::hours(2), Milliseconds(0), false};
    m.extensions_json = R"({"checkpoint":{"retain":"all"},"policy":{"exec":{"maxTimeout":"1m"}}})";
    return m;
}

} // namespace

TEST_CASE("canonical JSON comes back as the same manifest, field by field") {
    const Manifest before = full();
    const Manifest after = from_canonical_json(to_canonical_json(before));
    CHECK(to_canonical_json(after) == to_canonical_json(before));
    CHECK(after.name == before.name);
    CHECK(after.pull == before.pull);
    CHECK(after.workspace.destroy_on_session_destroy);
    CHECK(after.workspace.shared);
    CHECK(after.workspace.readonly);
    CHECK_FALSE(after.workspace.create);
    CHECK(after.labels == before.labels);
    CHECK(after.env.at("C").value == "/abs/f");
    CHECK(after.env.at("D").value == "\xFF");
    REQUIRE(after.seeds.size() == before.seeds.size());
    for (std::size_t i = 0; i < after.seeds.size(); ++i) {
        CAPTURE(before.seeds[i].path);
        CHECK(after.seeds[i].path == before.seeds[i].path);
        CHECK(after.seeds[i].kind == before.seeds[i].kind);
        CHECK(after.seeds[i].content == before.seeds[i].content);
        CHECK(after.seeds[i].mode == before.seeds[i].mode);
        CHECK(after.seeds[i].exclude == before.seeds[i].exclude);
        CHECK(after.seeds[i].ref == before.seeds[i].ref);
    }
    CHECK(after.limits.timeout == before.limits.timeout);
    CHECK(after.limits.max_output == before.limits.max_output);
    CHECK(after.limits.max_file == before.limits.max_file);
    CHECK(after.limits.memory == before.limits.memory);
    CHECK(after.limits.cpus == before.limits.cpus);
    CHECK(after.limits.pids == before.limits.pids);
    CHECK(after.limits.max_processes == before.limits.max_processes);
    CHECK(after.publish == before.publish);
    CHECK(after.tmpfs == before.tmpfs);
    CHECK(after.security.seccomp == before.security.seccomp);
    CHECK(after.security.drop_capabilities == before.security.drop_capabilities);
    CHECK(after.security.runtime == before.security.runtime);
    CHECK(after.lifecycle.ttl == before.lifecycle.ttl);
    CHECK(after.lifecycle.idle_timeout == before.lifecycle.idle_timeout);
    CHECK_FALSE(after.lifecycle.auto_destroy);
    CHECK(after.extensions_json == before.extensions_json);
}

TEST_CASE("a default manifest comes back too, image or not") {
    CHECK(to_canonical_json(from_canonical_json(to_canonical_json(Manifest{}))) == to_canonical_json(Manifest{}));
}

TEST_CASE("canonical JSON is a manifest itself") {
    Manifest m = full();
    m.workspace.readonly = false; // which could not be seeded
    ManifestBuilder builder;
    builder.allow_path("/");
    builder.allow_path("..");
    builder.add_document("m.json", to_canonical_json(m), "/");
    m.seeds.at(3).content = "/f";
    m.seeds.at(7).content = "/v.tar";
    CHECK(to_canonical_json(builder.build()) == to_canonical_json(m));
}

TEST_CASE("the digest is of what is said, and not of how") {
    const auto digest = [](const std::string& text) {
        ManifestBuilder builder;
        builder.add_document("m.yaml", text, ".");
        return manifest_digest(builder.build());
    };
    CHECK(digest("image: x\nlimits: {memory: 1GiB}\n") == digest("limits: {memory: 1024MiB}\nimage: \"x\"\n"));
    CHECK(digest("image: x\n") != digest("image: y\n"));
    CHECK(digest("image: x\n").starts_with("sha256:"));
    CHECK(digest("image: x\n").size() == 71);
}

TEST_CASE("a reference's value is in no JSON") {
    ManifestBuilder builder;
    builder.add_document("m.yaml", "image: x\nenv: {T: {fromEnv: PATH}}\n", ".");
    CHECK(contains(to_canonical_json(builder.build()), R"("T":{"fromEnv":"PATH"})"));
}

TEST_CASE("stored text that is not ours is refused, not trusted") {
    for (const char* text : {"", "x", "[]", "null", "{", "{\"limits\": 5}", "{\"unknown\": 1}", "{\"files\": {\"../x\": \"y\"}}",
                             "{\"limits\":{\"cpus\":\"a\"}}"}) {
        CAPTURE(text);
        CHECK(error_of([&] { from_canonical_json(text); }).code() == sandbox::ErrorCode::manifest_invalid);
    }
    CHECK(error_of([] { from_canonical_json("{\"env\":" + std::string(100, '[') + std::string(100, ']') + "}"); }).code() ==
          sandbox::ErrorCode::manifest_invalid);
}

TEST_CASE("every example is a good manifest") {
    int examples = 0;
    for (const auto& entry : std::filesystem::directory_iterator(SANDBOX_EXAMPLES)) {
        if (entry.path().extension() != ".yaml") continue;
        CAPTURE(entry.path().string());
        ManifestBuilder builder;
        builder.add_document(entry.path().string(), *sandbox::read_file(entry.path().string()), SANDBOX_EXAMPLES);
        CHECK_NOTHROW(builder.build());
        ++examples;
    }
    CHECK(examples >= 3);
}
