// SPDX-License-Identifier: Apache-2.0
// A container that is as it was asked for differs in nothing; each case changes one thing.
#include "app/isolation.hpp"

#include "app/agent_volume.hpp"
#include "app/capabilities.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace sandbox;
using namespace sandbox::app;

namespace {

engine::ContainerInfo as_asked() {
    engine::ContainerInfo container;
    container.id = "c1";
    container.running = true;
    container.settings.memory = 1ULL << 30;
    container.settings.memory_swap = 1LL << 30;
    container.settings.cpus = 1;
    container.settings.pids = 256;
    container.settings.cap_drop = {"ALL"};
    container.settings.security_opt = {"no-new-privileges"};
    container.settings.runtime = "runc";
    container.settings.network = "none";
    container.mounts = {{"volume", std::string(64, 'a'), "/workspace", true},
                        {"volume", "sandbox-agent-1", k_agent_mount, false},
                        {"bind", "", k_channel_mount, false}};
    return container;
}

Inside as_it_should_be() {
    Inside inside;
    inside.uid = 0;
    inside.gid = 0;
    inside.effective_caps = 0;
    inside.bounding_caps = 0;
    inside.no_new_privileges = true;
    inside.seccomp = 2;
    inside.mounts = {{"/", "overlay", false, {}}, {"/workspace", "ext4", false, {}}, {k_agent_mount, "ext4", true, {}}};
    inside.interfaces = std::vector<std::string>{};
    inside.memory = 1ULL << 30;
    inside.swap = 0;
    inside.cpus = 1;
    inside.pids = 256;
    return inside;
}

std::string differing(const engine::ContainerInfo& container, const Inside* inside, const domain::Manifest& manifest = {}) {
    std::string names;
    for (const auto& aspect : compare_isolation(manifest, container, inside)) {
        if (aspect.differs) names += (names.empty() ? "" : " ") + aspect.name;
    }
    return names;
}

std::string file(const std::string& path, const std::string& content) { return path + " " + std::to_string(content.size()) + "\n" + content + "\n"; }

} // namespace

TEST_CASE("as asked, nothing differs, looked into or not") {
    const auto inside = as_it_should_be();
    CHECK(differing(as_asked(), &inside) == "");
    CHECK(differing(as_asked(), nullptr) == "");
    CHECK(differing(as_asked(), &static_cast<const Inside&>(Inside{})) == "");
}

TEST_CASE("what the engine was told otherwise") {
    const auto told = [](auto change) {
        auto container = as_asked();
        change(container.settings);
        return differing(container, nullptr);
    };
    CHECK(told([](auto& settings) { settings.memory = 0; }) == "memory swap");
    CHECK(told([](auto& settings) { settings.memory_swap = 0; }) == "");
    CHECK(told([](auto& settings) { settings.pids = -1; }) == "pids");
    CHECK(told([](auto& settings) { settings.cpus = 0; }) == "cpus");
    CHECK(told([](auto& settings) { settings.cap_add = {"cap_sys_admin"}; }) == "capabilities");
    CHECK(told([](auto& settings) { settings.security_opt.clear(); }) == "noNewPrivileges");
    CHECK(told([](auto& settings) { settings.security_opt.emplace_back("seccomp=unconfined"); }) == "seccomp");
    CHECK(told([](auto& settings) { settings.network = "host"; }) == "network hostAccess");
    CHECK(told([](auto& settings) { settings.host_namespaces = {"ipc"}; }) == "hostAccess");
    CHECK(told([](auto& settings) { settings.devices = 1; }) == "hostAccess");
    CHECK(told([](auto& settings) { settings.readonly_rootfs = true; }) == "readonlyRootfs");
    CHECK(told([](auto& settings) { settings.privileged = true; }) == "capabilities seccomp hostAccess");
    CHECK(told([](auto& settings) { settings.tmpfs["/x"] = "size=1"; }) == "tmpfs");
    // Podman's own with a read-only root, and only with one.
    const auto podman = [](auto& settings) { settings.tmpfs["/run"] = settings.tmpfs["/var/tmp"] = "rw,rprivate,nosuid,nodev,tmpcopyup"; };
    CHECK(told([&](auto& settings) { settings.readonly_rootfs = true; podman(settings); }) == "readonlyRootfs");
    CHECK(told([&](auto& settings) { podman(settings); }) == "tmpfs");
}

TEST_CASE("what does not hold inside, whatever the engine says") {
    const auto held = [](auto change) {
        auto inside = as_it_should_be();
        change(inside);
        return differing(as_asked(), &inside);
    };
    CHECK(held([](Inside& inside) { inside.memory = 0; }) == "memory");
    CHECK(held([](Inside& inside) { inside.memory = (1ULL << 30) - 4096; }) == "memory"); // another page count than the engine's
    CHECK(held([](Inside& inside) { inside.swap = 1 << 20; }) == "swap");
    CHECK(held([](Inside& inside) { inside.cpus = 0; }) == "cpus");
    CHECK(held([](Inside& inside) { inside.pids = 0; }) == "pids");
    CHECK(held([](Inside& inside) { inside.seccomp = 0; }) == "seccomp");
    CHECK(held([](Inside& inside) { inside.no_new_privileges = false; }) == "noNewPrivileges");
    CHECK(held([](Inside& inside) { inside.bounding_caps = 1 << 21; }) == "capabilities");
    CHECK(held([](Inside& inside) { inside.interfaces = std::vector<std::string>{"eth0"}; }) == "network");
    CHECK(held([](Inside& inside) { inside.mounts[0].read_only = true; }) == "readonlyRootfs");
    CHECK(held([](Inside& inside) { inside.mounts[2].read_only = false; }) == "mounts");
}

TEST_CASE("gVisor's own word about seccomp is not taken") {
    auto container = as_asked();
    container.settings.runtime = "runsc";
    auto inside = as_it_should_be();
    inside.seccomp = 0;
    CHECK(differing(container, &inside) == "");
}

TEST_CASE("an image's own volumes are no mounts that nobody asked for; named ones and binds are") {
    auto container = as_asked();
    container.mounts.push_back({"volume", std::string(64, 'b'), "/data", true});
    CHECK(differing(container, nullptr) == "");
    container.mounts.push_back({"volume", "somebodys", "/more", true});
    CHECK(differing(container, nullptr) == "mounts");
    container.mounts.back() = {"bind", "", "/host", false};
    CHECK(differing(container, nullptr) == "mounts");
}

TEST_CASE("capability sets") {
    CHECK(capability_names(0) == "none");
    CHECK(capability_names(~0ULL) == "all");
    CHECK(capability_names(1) == "CHOWN");
    CHECK(capability_names((1ULL << 13) | (1ULL << 50)) == "NET_RAW,50");
    CHECK(capabilities_of({"ALL"}, {"net_raw", "CAP_CHOWN"}).allowed == ((1ULL << 13) | 1));
    CHECK(capabilities_of({}, {}).allowed == 0xa80425fb); // docker's
    CHECK(capabilities_of({"ALL"}, {"NOSUCH"}).allowed == 0);
}

TEST_CASE("facts of cgroup v1") {
    const auto inside = parse_facts(file("/proc/1/status", "Name:\tsandbox-agent\nUid:\t0\t1000\t0\t0\nGid:\t0\t7\t0\t0\nCapEff:\t0000000000000000\n"
                                                           "CapBnd:\t00000000a80425fb\nNoNewPrivs:\t1\nSeccomp:\t2\n") +
                                        file("/proc/self/mountinfo", "1 0 0:1 / / ro,relatime - overlay overlay rw\n"
                                                                     "2 1 0:2 / /tmp rw,nosuid shared:1 - tmpfs tmpfs rw,size=62500k\n") +
                                        file("/proc/self/net/dev", "Inter-|   Receive\n face |bytes\n    lo: 0 0\n  eth0: 1 2\n tunl0: 0 0\n") +
                                        file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n") +
                                        file("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "67108864\n") +
                                        file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n") + file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n") +
                                        file("/sys/fs/cgroup/pids/pids.max", "max\n"),
                                    Whose::first_process);
    REQUIRE(inside);
    CHECK(inside->uid == 1000);
    CHECK(inside->gid == 7);
    CHECK(inside->bounding_caps == 0xa80425fb);
    CHECK(inside->no_new_privileges == true);
    CHECK(inside->seccomp == 2);
    REQUIRE(inside->mounts.size() == 2);
    CHECK(inside->mounts[0].read_only);
    CHECK(inside->mounts[1].size == 64'000'000);
    CHECK(*inside->interfaces == std::vector<std::string>{"eth0"});
    CHECK(inside->memory == 67108864);
    CHECK(inside->swap == 0);
    CHECK(inside->cpus == 0.5);
    CHECK(inside->pids == 0);
}

TEST_CASE("facts of cgroup v2, and limits that are none") {
    const auto inside = parse_facts(file("/sys/fs/cgroup/memory.max", "max\n") + file("/sys/fs/cgroup/memory.swap.max", "0\n") +
                                        file("/sys/fs/cgroup/cpu.max", "150000 100000\n") + file("/sys/fs/cgroup/pids.max", "32\n"),
                                    Whose::first_process);
    REQUIRE(inside);
    CHECK(inside->memory == 0);
    CHECK(inside->swap == 0);
    CHECK(inside->cpus == 1.5);
    CHECK(inside->pids == 32);
    CHECK(!inside->uid);
    const auto none = parse_facts(file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"), Whose::own);
    REQUIRE(none);
    CHECK(none->memory == 0);
}

TEST_CASE("what is no answer of the agent is not known") {
    CHECK(!parse_facts("", Whose::own));
    CHECK(!parse_facts("sandbox-agent: not to be started by hand\n", Whose::own));
    CHECK(!parse_facts("/proc/1/status 99999999999\nshort\n", Whose::own));
    CHECK(!parse_facts("/proc/1/status -1\nshort\n", Whose::own));
    const auto odd = parse_facts(file("/proc/1/status", "CapBnd:\tzz\nUid:\nSeccomp\n\n:\n") + file("/sys/fs/cgroup/cpu.max", "1 0\n"), Whose::first_process);
    REQUIRE(odd);
    CHECK(!odd->bounding_caps);
    CHECK(!odd->uid);
    CHECK(!odd->cpus);
}
