// SPDX-License-Identifier: Apache-2.0
// Config files: what they may say, what beats what, and ceilings.
#include "domain/config.hpp"
#include "domain/manifest.hpp"

#include "expect_error.hpp"

#include <doctest/doctest.h>

using namespace sandbox::domain;
using namespace sandbox::tests;
using sandbox::ErrorCode;

namespace {

sandbox::Error refused(const std::string& text) {
    auto error = error_of([&] { ManifestBuilder().add_config(parse_config("c.yaml", text, "/etc")); });
    CHECK(error.code() == ErrorCode::manifest_invalid);
    CHECK(error.message().starts_with("c.yaml:"));
    return error;
}

ManifestBuilder bounded(const std::string& ceilings, const std::string& manifest = "") {
    ManifestBuilder builder;
    builder.add_config(parse_config("c.yaml", "ceilings: " + ceilings, "/etc"));
    builder.add_document("m.yaml", "image: x\n" + manifest, "/project");
    return builder;
}

void denied(const std::string& ceilings, const std::string& manifest) {
    CAPTURE(ceilings);
    CAPTURE(manifest);
    const auto error = error_of([&] { bounded(ceilings, manifest).build(); });
    CHECK(error.code() == ErrorCode::denied);
    CHECK(contains(error.message(), "m.yaml:2:"));
    CHECK(contains(error.message(), "c.yaml:1"));
    CHECK(!error.hint().empty());
}

} // namespace

TEST_CASE("flag over manifest over the later config over the earlier one") {
    ManifestBuilder builder;
    builder.add_config(parse_config("etc.yaml", "defaults: {limits: {pids: 1, cpus: 1, maxProcesses: 1, memory: 10MB}}", "/etc"));
    builder.add_config(parse_config("user.yaml", "defaults: {limits: {pids: 2, cpus: 2, memory: 20MB}}", "/home"));
    builder.add_document("m.yaml", "image: x\nlimits: {pids: 3, memory: 30MB}", "/project");
    builder.set("limits.memory", "40MB", "--memory");
    const Manifest manifest = builder.build();
    CHECK(manifest.limits.memory == 40'000'000);
    CHECK(manifest.limits.pids == 3);
    CHECK(manifest.limits.cpus == 2);
    CHECK(manifest.limits.max_processes == 1);
}

TEST_CASE("a config is read as strictly as a manifest") {
    CHECK(contains(refused("default: {}").message(), "did you mean \"defaults\""));
    CHECK(contains(refused("limits: {pids: 1}").hint(), "under \"defaults\""));
    CHECK(contains(refused("defaults: {limits: {memroy: 1GB}}").message(), "c.yaml:1:21"));
    CHECK(contains(refused("defaults: {limits: {memory: much}}").message(), "^"));
    CHECK(contains(refused("defaults: []").message(), "map"));
    CHECK(contains(refused("ceilings: {image: x}").message(), "no ceiling"));
    CHECK(contains(refused("ceilings: {session: 5}").message(), "did you mean \"sessions\""));
    CHECK(contains(refused("ceilings: {ttl: 1h}").message(), "did you mean \"lifecycle.ttl\""));
    CHECK(contains(refused("tll: 1h").hint(), "defaults.lifecycle.ttl"));
    CHECK(contains(refused("ttl: 1h").hint(), "defaults.lifecycle.ttl"));
    CHECK(contains(refused("ceilings: {sessions: 0}").message(), "from 1"));
    CHECK(contains(refused("ceilings: {limits: {memory: much}}").message(), "size"));
    CHECK(contains(refused("ceilings: {security: {readonlyRootfs: false}}").message(), "only true"));
    CHECK(contains(refused("ceilings: {limits: {timeout: 0}}").message(), "no limit"));
    CHECK(contains(refused("hook: {}").message(), "did you mean \"hooks\""));
    CHECK(contains(refused("hooks: []").message(), "map"));
    CHECK_NOTHROW(parse_config("c.yaml", "", "/etc"));
    CHECK_NOTHROW(parse_config("c.yaml", "defaults:\nceilings:\n", "/etc"));
}

TEST_CASE("hooks are commands, with the place of each") {
    const auto hooks = parse_config("c.yaml", "hooks:\n  exec.ended: [a, \"b c\"]\n  anything: [d]\n", "/etc").hooks;
    REQUIRE(hooks.size() == 2);
    CHECK(hooks[0].kind == "exec.ended");
    CHECK(hooks[0].mark.line == 1);
    CHECK(hooks[0].command == std::vector<std::string>{"a", "b c"});
    CHECK(hooks[1].kind == "anything"); // what kinds there are is not the domain's
}

TEST_CASE("a wrong hook keeps only itself from being run") {
    const auto config = parse_config("c.yaml", "hooks:\n  a: true\n  b: [d]\n  c: []\n", "/etc");
    REQUIRE(config.hooks.size() == 1);
    CHECK(config.hooks[0].kind == "b");
    REQUIRE(config.hook_problems.size() == 2);
    CHECK(contains(config.hook_problems[0].message(), "c.yaml:2:6: hooks.a: text, where a list is wanted"));
    CHECK(contains(config.hook_problems[1].message(), "c.yaml:4:6: hooks.c: is a command and its arguments, and names none"));
}

TEST_CASE("what is over a ceiling is denied, with both places") {
    denied("{limits: {memory: 64MB}}", "limits: {memory: 65MB}");
    denied("{limits: {cpus: 1.5}}", "limits: {cpus: 2}");
    denied("{limits: {pids: 9}}", "limits: {pids: 10}");
    denied("{limits: {timeout: 1m}}", "limits: {timeout: 61s}");
    denied("{limits: {timeout: 1m}}", "limits: {timeout: 0}");
    denied("{limits: {maxFile: 1MB}}", "limits: {maxFile: 2MB}");
    denied("{lifecycle: {ttl: 1h}}", "lifecycle: {ttl: 61m}");
    denied("{lifecycle: {idleTimeout: 1h}}", "lifecycle: {idleTimeout: 0}");
    denied("{network: none}", "network: bridge");
    denied("{security: {readonlyRootfs: true}}", "security: {readonlyRootfs: false}");
    denied("{security: {noNewPrivileges: true}}", "security: {noNewPrivileges: false}");
    denied("{security: {dropCapabilities: [ALL]}}", "security: {dropCapabilities: [NET_RAW]}");
    denied("{security: {addCapabilities: [CHOWN]}}", "security: {addCapabilities: [CHOWN, SYS_ADMIN]}");
    denied("{security: {addCapabilities: []}}", "security: {addCapabilities: [CHOWN]}");
    denied("{security: {seccomp: default}}", "security: {seccomp: unconfined}");
    denied("{security: {runtime: runsc}}", "security: {runtime: runc}");
}

TEST_CASE("what keeps to a ceiling passes") {
    CHECK(bounded("{limits: {memory: 64MB}}", "limits: {memory: 64MB}").build().limits.memory == 64'000'000);
    CHECK(bounded("{network: bridge}", "network: bridge").build().network == NetworkMode::bridge);
    CHECK_NOTHROW(bounded("{security: {dropCapabilities: [NET_RAW]}}", "security: {dropCapabilities: [ALL]}").build());
    CHECK_NOTHROW(bounded("{security: {addCapabilities: [ALL]}}", "security: {addCapabilities: [SYS_ADMIN]}").build());
}

TEST_CASE("a built-in default above a ceiling comes down to it") {
    CHECK(bounded("{limits: {memory: 64MB}}").build().limits.memory == 64'000'000);
    CHECK(bounded("{limits: {memory: 64GB}}").build().limits.memory == 1ULL << 30);
    CHECK(bounded("{limits: {timeout: 1m}}").build().limits.timeout == std::chrono::minutes(1));
    CHECK(bounded("{lifecycle: {ttl: 5m}}").build().lifecycle.ttl == std::chrono::minutes(5));
    CHECK(bounded("{security: {readonlyRootfs: true}}").build().security.readonly_rootfs);
    CHECK(bounded("{security: {runtime: runsc}}").build().security.runtime == "runsc");
}

TEST_CASE("the ceilings of both files hold, and a flag is no way around") {
    ManifestBuilder builder;
    builder.add_config(parse_config("etc.yaml", "ceilings: {limits: {memory: 32MB}, sessions: 9, sessionsPerOwner: 2}", "/etc"));
    builder.add_config(parse_config("user.yaml", "ceilings: {limits: {memory: 64MB}, sessions: 5, sessionsPerOwner: 4}", "/home"));
    builder.set("image", "x", "--image");
    CHECK(builder.build().limits.memory == 32'000'000);
    CHECK(builder.capacity().sessions->most == 5);
    CHECK(builder.capacity().sessions_per_owner->most == 2);
    CHECK(builder.capacity().sessions_per_owner->origin == "etc.yaml:1");
    builder.set("limits.memory", "40MB", "--memory");
    const auto error = error_of([&] { builder.build(); });
    CHECK(error.code() == ErrorCode::denied);
    CHECK(error.message() == "--memory: 40MB is over the ceiling of 32MB, set in etc.yaml:1");
    CHECK(contains(error.hint(), "limits.memory: 32MB"));
}
