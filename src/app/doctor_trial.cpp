// SPDX-License-Identifier: Apache-2.0
// A throw-away session: what no answer of the engine proves. It has every limit, no network and a read-only root, lives two
// minutes at most, and is looked into through both channels.
#include "app/create.hpp"
#include "app/doctor_checks.hpp"
#include "app/interrupt.hpp"
#include "app/sessions.hpp"
#include "app/teardown.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <array>

namespace sandbox::app::doctor {
namespace {

constexpr Milliseconds k_patience{10'000}; // with an engine that is stuck at the trial's container

domain::Manifest trial_manifest(const std::string& image) {
    domain::Manifest manifest;
    manifest.image = image;
    manifest.pull = domain::PullPolicy::never;
    manifest.labels = {{"doctor", "trial"}};
    manifest.limits.memory = 64 << 20;
    manifest.limits.cpus = 0.5;
    manifest.limits.pids = 32;
    manifest.security.readonly_rootfs = true;
    manifest.lifecycle.ttl = std::chrono::minutes(2);
    manifest.lifecycle.idle_timeout = std::chrono::minutes(1);
    return manifest;
}

// Gone at the end of the scope, whatever happens; at the end of its own time if even this process is killed.
class Trial {
  public:
    Trial(Context& context, const std::string& image) : m_context(context) {
        CreateOptions options;
        options.is_trial = true;
        m_row = create_session(context, trial_manifest(image), options).row;
    }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;
    ~Trial() {
        try {
            end();
        } catch (const std::exception&) {
            // Its agent ends it, and gc finds its row.
        }
    }
    const state::SessionRow& row() const { return m_row; }

    std::vector<Left> end() {
        if (m_ended) return {};
        m_ended = true;
        const auto lock = m_context.store().lock_session(m_row.id);
        return tear_down(m_context, m_row, {.reason = "doctor's trial", .forget = true});
    }

  private:
    Context& m_context;
    state::SessionRow m_row;
    bool m_ended = false;
};

Finding socket_finding(const Examination& examination, const Trial& trial) {
    if (trial.row().channel == state::ChannelKind::socket) return ok("channel_socket", "the agent answers on the session's socket");
    if (!examination.engine_is_local) return ok("channel_socket", "not used: the engine is not on this machine");
    return warning("channel_socket", "the agent did not come to the session's socket: every call takes the slower way through the engine",
                   "let the engine see the state directory (no virtual machine or container in between), and use runc or crun");
}

Finding bridge_finding(Examination& examination, const Trial& trial) {
    try {
        const auto& row = trial.row();
        engine::Client engine(examination.engine->endpoint(), {.connect = k_patience, .header = k_patience, .slow_header = k_patience});
        const auto link = bridge_link(examination.context.lookup().session_directory(row.id), row, [&]() -> engine::Client& { return engine; });
        channel::status(link, k_patience);
        return ok("channel_bridge", "the agent answers through the engine");
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        return problem("channel_bridge", "the agent does not answer through the engine: " + error.message(), "see that the engine's exec works: docker exec");
    }
}

struct Proof {
    const char* aspect;
    const char* check;
    const char* claim;
    const char* fix;
    bool is_limit;
};
constexpr std::array k_proofs{
    Proof{"memory", "enforced_memory", "the memory limit holds", "the kernel's memory controller is not handed to containers: see docker info", true},
    Proof{"swap", "enforced_swap", "there is no swap beyond memory", "boot with swapaccount=1, or turn swap off", false},
    Proof{"cpus", "enforced_cpus", "the CPU limit holds", "the kernel's cpu controller is not handed to containers: see docker info", true},
    Proof{"pids", "enforced_pids", "the limit of processes holds", "the kernel's pids controller is not handed to containers: see docker info", true},
    Proof{"readonlyRootfs", "enforced_readonly_rootfs", "the root is read-only", "the engine ignores ReadonlyRootfs: use another engine or runtime", false},
    Proof{"network", "enforced_network_none", "there is no network", "the engine ignores NetworkMode none: use another engine or runtime", false},
    Proof{"capabilities", "enforced_capabilities", "there is no capability", "the engine ignores CapDrop: use another engine or runtime", false},
    Proof{"noNewPrivileges", "enforced_no_new_privileges", "there are no new privileges", "the engine ignores no-new-privileges: use another engine or runtime", false},
    Proof{"seccomp", "enforced_seccomp", "seccomp filters system calls", "turn seccomp on in kernel and engine", false},
};

void prove(Examination& examination, const Isolation& isolation, Findings& findings) {
    bool all_hold = true;
    for (const auto& proof : k_proofs) {
        const auto aspect = std::ranges::find_if(isolation.aspects, [&](const Aspect& one) { return one.name == proof.aspect; });
        if (aspect == isolation.aspects.end()) continue;
        const std::string claim = proof.claim;
        if (aspect->differs) {
            findings.push_back(problem(proof.check, "not so: " + claim + "; the session has " + printable(aspect->inside.value_or(aspect->engine)) + " where " + aspect->asked + " was asked for", proof.fix));
        } else if (!aspect->inside) {
            findings.push_back(unknown(proof.check, "not to be seen from inside: " + claim));
        } else {
            findings.push_back(ok(proof.check, claim + " (" + printable(*aspect->inside) + ")"));
        }
        if (proof.is_limit && (aspect->differs || !aspect->inside)) all_hold = false;
    }
    examination.limits_hold = all_hold;
}

std::optional<std::string> image_for(const Examination& examination) {
    std::vector<std::string> wanted = examination.options.default_images;
    if (examination.options.image) wanted = {*examination.options.image};
    for (const auto& image : wanted) {
        if (examination.engine->inspect_image(image)) return image;
    }
    return std::nullopt;
}

// Why there is no trial; empty: there is one.
std::string obstacle(const Examination& examination) {
    if (examination.options.quick) return "not tried: --quick";
    if (examination.engine == nullptr) return "not tried: no engine answers";
    const auto& found = examination.state;
    // Making one would start a new state.db, or write to one that another machine may be using.
    const bool is_new = found.error.empty() && (!found.exists || found.is_directory) && !found.has_identity && found.database == state::Diagnosis::Database::absent;
    const bool is_ours = examination.store != nullptr && found.on_its_machine;
    return is_new || is_ours ? "" : "not tried: the state is not in order";
}

} // namespace

Findings check_trial_session(Examination& examination) {
    constexpr const char* k_check = "trial_session";
    if (const std::string why = obstacle(examination); !why.empty()) {
        return {unknown(k_check, why + "; agent, channels and limits from inside were not checked")};
    }
    const auto image = image_for(examination);
    if (!image) return {unknown(k_check, "not tried for want of an image; agent, channels and limits from inside were not checked", "sandbox image bootstrap, or sandbox doctor --image IMAGE")};
    Interrupt interrupt;
    Findings findings;
    try {
        const std::int64_t started = boot_now_ms();
        Trial trial(examination.context, *image);
        findings.push_back(ok(k_check, "a session of " + *image + " was up after " + format_duration(Milliseconds(boot_now_ms() - started)) + "; the agent was delivered"));
        interrupt.check();
        findings.push_back(socket_finding(examination, trial));
        findings.push_back(bridge_finding(examination, trial));
        interrupt.check();
        prove(examination, isolation_of(examination.context, trial.row(), Depth::inside), findings);
        interrupt.check();
        const auto left = trial.end();
        findings.push_back(left.empty() ? ok("trial_cleanup", "the session is gone again") : problem("trial_cleanup", left_error(left).message(), "sandbox gc"));
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        findings.push_back(problem(k_check, "a session could not be made: " + error.message(), error.hint().empty() ? "sandbox create --image " + *image + " shows the same" : error.hint()));
    }
    return findings;
}

} // namespace sandbox::app::doctor
