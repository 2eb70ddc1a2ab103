// SPDX-License-Identifier: Apache-2.0
#include "app/agent_volume.hpp"
#include "app/doctor_checks.hpp"
#include "engine/podman.hpp"
#include "util/environment.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <sys/stat.h>

namespace sandbox::app::doctor {
namespace {

constexpr std::int64_t k_clock_tolerance_ms = 3000;

bool offers(const engine::EngineInfo& info, std::string_view option) {
    return std::ranges::any_of(info.security_options, [&](const std::string& one) { return one.starts_with(option); });
}

// Before the engine is asked for anything: what a call over the network would let everybody do.
Findings check_access(const engine::Endpoint& endpoint) {
    constexpr const char* k_check = "engine_access";
    if (endpoint.kind == engine::Endpoint::Kind::tls) return {ok(k_check, "TLS with a client certificate")};
    if (endpoint.kind == engine::Endpoint::Kind::tcp) {
        const bool is_loopback = endpoint.host == "localhost" || endpoint.host == "::1" || endpoint.host.starts_with("127.");
        return {warning(k_check, "the engine listens on tcp without TLS: whoever reaches " + endpoint.address() + " is root on its machine",
                        is_loopback ? "use the engine's unix socket" : "give the engine certificates and set DOCKER_TLS_VERIFY=1")};
    }
    struct stat info{};
    if (::stat(endpoint.path.c_str(), &info) != 0) return {};
    if ((info.st_mode & 06) != 0) {
        return {warning(k_check, "everybody on this machine may use " + quoted(endpoint.path) + ", which is to be root", "chmod o-rwx " + endpoint.path)};
    }
    return {ok(k_check, "only root and the socket's group may use it")};
}

Finding version_finding(const engine::EngineInfo& info) {
    const bool is_podman = engine::is_podman(info.id);
    const std::string what = std::string(is_podman ? "Podman " : "Docker ") + info.version + ", API " + info.api_version + ", " + info.architecture;
    try {
        agent_volume_name(info.architecture);
    } catch (const Error& error) {
        return problem("engine_version", what + ": " + error.message(), error.hint());
    }
    if (is_podman) return warning("engine_version", what + ": some things differ (network: bridge is refused, volumes of expired sessions wait for gc)", "sandbox's PODMAN.md lists the differences");
    return ok("engine_version", what);
}

std::string podman_note() {
    return environment("SANDBOX_NO_PODMAN").empty() && engine::podman_socket() ? "; Podman is installed and is started when no Docker answers" : "";
}

} // namespace

Findings check_engine(Examination& examination) {
    constexpr const char* k_check = "engine_reachable";
    Findings findings;
    try {
        auto& engine = examination.context.engine();
        const auto& endpoint = engine.endpoint();
        examination.engine_is_local = endpoint.kind == engine::Endpoint::Kind::unix_socket;
        findings = check_access(endpoint);
        examination.asked_ms = wall_now_ms();
        examination.info = engine.info();
        examination.answered_ms = wall_now_ms();
        examination.engine = &engine;
        findings.insert(findings.begin(), ok(k_check, endpoint.address()));
        findings.push_back(version_finding(*examination.info));
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        findings.insert(findings.begin(), problem(k_check, error.message(), (error.hint().empty() ? "start the engine, or name another with --engine" : error.hint()) + podman_note()));
    }
    return findings;
}

Findings check_clock(Examination& examination) {
    constexpr const char* k_check = "engine_clock";
    if (!examination.info) return {};
    const auto theirs = parse_rfc3339(examination.info->system_time);
    if (!theirs) return {unknown(k_check, "the engine does not tell its time")};
    // A long answer is no wrong clock: somewhere between the question and the answer it was right.
    const std::int64_t ahead = *theirs > examination.answered_ms ? *theirs - examination.answered_ms
                               : *theirs < examination.asked_ms  ? *theirs - examination.asked_ms
                                                                 : 0;
    examination.clock_agrees = std::abs(ahead) <= k_clock_tolerance_ms;
    if (*examination.clock_agrees) return {ok(k_check, "the engine's clock agrees with this machine's")};
    return {warning(k_check, "the engine's clock is " + format_duration(Milliseconds(std::abs(ahead))) + (ahead > 0 ? " ahead" : " behind") + ": expiry and gc's grace depend on it",
                    "turn on time synchronisation on both machines (systemd-timesyncd, chrony)")};
}

Findings check_image(Examination& examination) {
    constexpr const char* k_check = "image";
    if (examination.engine == nullptr) return {};
    std::vector<std::string> wanted = examination.options.default_images;
    if (examination.options.image) wanted = {*examination.options.image};
    for (const auto& image : wanted) {
        if (examination.engine->inspect_image(image)) return {ok(k_check, image + " is on the engine")};
    }
    const std::string names = join(wanted, ", ");
    if (examination.options.image) return {problem(k_check, "image " + names + " is not on this engine", "docker pull " + names + ", or leave --image out")};
    return {warning(k_check, "no image to try a session with: " + names + " is not there", "sandbox image bootstrap, or sandbox doctor --image IMAGE")};
}

Findings check_limits(Examination& examination) {
    if (!examination.info) return {};
    const auto& info = *examination.info;
    struct Limit {
        const char* check;
        std::optional<bool> offered;
        const char* name;
    };
    Findings findings;
    const std::string group = "cgroup v" + (info.cgroup_version.empty() ? std::string("?") : info.cgroup_version) + ", driver " + (info.cgroup_driver.empty() ? "not told" : info.cgroup_driver);
    findings.push_back(ok("cgroup", group));
    const bool is_ignored = info.rootless && info.cgroup_version == "1";
    if (is_ignored) findings.back() = problem("cgroup", group + ", rootless: no limit holds", "boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1), or use a rootful engine");
    for (const auto& [check, offered, name] : {Limit{"limit_memory", info.memory_limit, "memory"}, Limit{"limit_swap", info.swap_limit, "swap"},
                                               Limit{"limit_cpus", info.cpu_quota, "CPU time"}, Limit{"limit_pids", info.pids_limit, "processes"}}) {
        if (!offered) findings.push_back(unknown(check, std::string("the engine does not say whether it limits ") + name));
        else if (*offered) findings.push_back(ok(check, std::string("the engine limits ") + name));
        else if (std::string_view(check) == "limit_swap") findings.push_back(warning(check, "the engine cannot limit swap: a session may take swap beyond its memory", "boot with swapaccount=1, or turn swap off"));
        else findings.push_back(problem(check, std::string("the engine does not limit ") + name, "turn on the kernel's cgroup controller for it (docker info tells which is missing)"));
    }
    if (!info.warnings.empty()) {
        findings.push_back(warning("engine_warnings", "the engine warns about itself", "docker info"));
        findings.back().details = info.warnings;
    }
    return findings;
}

Findings check_isolation_offered(Examination& examination) {
    if (!examination.info) return {};
    const auto& info = *examination.info;
    Findings findings;
    const bool is_unconfined = offers(info, "name=seccomp,profile=unconfined");
    if (is_unconfined || !offers(info, "name=seccomp")) {
        findings.push_back(problem("engine_seccomp", is_unconfined ? "the engine's default seccomp profile is unconfined" : "the engine has no seccomp", "remove seccomp-profile from the engine's daemon.json; use a kernel with CONFIG_SECCOMP_FILTER"));
    } else {
        findings.push_back(ok("engine_seccomp", "a seccomp profile by default"));
    }
    std::vector<std::string> layers;
    if (info.rootless) layers.emplace_back("rootless");
    if (offers(info, "name=userns")) layers.emplace_back("userns-remap");
    if (offers(info, "name=apparmor")) layers.emplace_back("AppArmor");
    if (offers(info, "name=selinux")) layers.emplace_back("SELinux");
    for (const auto& runtime : info.runtimes) {
        if (runtime.starts_with("runsc") || runtime.starts_with("kata")) layers.push_back("runtime " + runtime);
    }
    findings.push_back(ok("engine_layers", layers.empty() ? "no layer beyond namespaces, capabilities and seccomp" : join(layers, ", ")));
    return findings;
}

} // namespace sandbox::app::doctor
