// SPDX-License-Identifier: Apache-2.0
#include "app/container_spec.hpp"

#include "domain/labels.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace sandbox;

namespace {

state::SessionRow row() {
    state::SessionRow row;
    row.id = "s0123456789ab";
    row.owner = "acme";
    row.container_name = "sandbox-s0123456789ab";
    row.created_ms = 1'000'000;
    row.expires_ms = 2'000'000;
    row.labels = {{"jobId", "981"}};
    return row;
}

engine::ContainerSpec spec_of(const domain::Manifest& manifest, const state::SessionRow& session) {
    return app::container_spec({session, manifest, "instance", "sandbox-agent-x", "/state/channel", "", "none"});
}

const engine::Mount* mount_at(const engine::ContainerSpec& spec, const std::string& target) {
    const auto found = std::ranges::find(spec.mounts, target, &engine::Mount::target);
    return found == spec.mounts.end() ? nullptr : &*found;
}

domain::Manifest manifest() {
    domain::Manifest result;
    result.image = "sandbox/base";
    result.env["TOKEN"] = {domain::EnvValue::Kind::literal, "secret"};
    return result;
}

} // namespace

TEST_CASE("the defaults keep a session in") {
    const auto session = row();
    const auto spec = spec_of(manifest(), session);
    CHECK(spec.network == "none");
    CHECK(spec.cap_drop == std::vector<std::string>{"ALL"});
    CHECK(spec.cap_add.empty());
    CHECK(spec.security_opt == std::vector<std::string>{"no-new-privileges"});
    CHECK(spec.memory == 1ULL << 30);
    CHECK(spec.pids == 256);
    CHECK(spec.cpus == 1.0);
    CHECK(spec.auto_remove);
    CHECK(spec.entrypoint == std::vector<std::string>{"/.sandbox/sandbox-agent", "init"});
    CHECK(spec.command.empty());
}

TEST_CASE("that files are scanned on their way out is in a label, what scans them is not") {
    const auto session = row();
    auto scanned = manifest();
    CHECK_FALSE(spec_of(scanned, session).labels.contains(domain::k_label_scan));
    scanned.extensions_json = R"({"export":{"scan":["/usr/bin/clamscan","-"]}})";
    CHECK(spec_of(scanned, session).labels.at(domain::k_label_scan) == "required");
}

TEST_CASE("no environment value reaches the container's configuration") {
    const auto session = row();
    CHECK(spec_of(manifest(), session).env.empty());
}

TEST_CASE("agent and channel are mounted read-only") {
    const auto session = row();
    const auto spec = spec_of(manifest(), session);
    REQUIRE(mount_at(spec, "/.sandbox") != nullptr);
    CHECK(mount_at(spec, "/.sandbox")->read_only);
    REQUIRE(mount_at(spec, "/.sandbox/channel") != nullptr);
    CHECK(mount_at(spec, "/.sandbox/channel")->read_only);
    CHECK(mount_at(spec, "/.sandbox/channel")->kind == engine::Mount::Kind::bind);
}

TEST_CASE("an ephemeral workspace is anonymous and labelled, a persistent one has its name") {
    auto session = row();
    auto spec = spec_of(manifest(), session);
    CHECK(mount_at(spec, "/workspace")->source.empty());
    CHECK(mount_at(spec, "/workspace")->volume_labels.at(domain::k_label_session) == session.id);
    session.volume = "sandbox-ws-1";
    spec = spec_of(manifest(), session);
    CHECK(mount_at(spec, "/workspace")->source == "sandbox-ws-1");
}

TEST_CASE("labels can rebuild the state") {
    const auto session = row();
    const auto labels = spec_of(manifest(), session).labels;
    CHECK(labels.at("sandbox.instance") == "instance");
    CHECK(labels.at("sandbox.session") == session.id);
    CHECK(labels.at("sandbox.owner") == "acme");
    CHECK(labels.at("sandbox.role") == "session");
    CHECK(labels.at("sandbox.expires") == "1970-01-01T00:33:20Z");
    CHECK(labels.at("sandbox.label.jobId") == "981");
}

TEST_CASE("a read-only root gets a writable /tmp, unless the manifest has its own") {
    const auto session = row();
    auto wanted = manifest();
    CHECK(mount_at(spec_of(wanted, session), "/tmp") == nullptr);
    wanted.security.readonly_rootfs = true;
    REQUIRE(mount_at(spec_of(wanted, session), "/tmp") != nullptr);
    CHECK(mount_at(spec_of(wanted, session), "/tmp")->tmpfs_size == 64'000'000);
    wanted.tmpfs["/tmp"] = 5;
    CHECK(mount_at(spec_of(wanted, session), "/tmp")->tmpfs_size == 5);
}

TEST_CASE("a session kept after its deadline is not removed by the engine") {
    const auto session = row();
    auto wanted = manifest();
    wanted.lifecycle.auto_destroy = false;
    CHECK_FALSE(spec_of(wanted, session).auto_remove);
}
