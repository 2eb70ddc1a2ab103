// SPDX-License-Identifier: Apache-2.0
#include "app/agent_volume.hpp"

#include "agent/embedded.hpp"
#include "app/helper_container.hpp"
#include "domain/labels.hpp"
#include "util/error.hpp"
#include "util/time.hpp"

#include <thread>

namespace sandbox::app {
namespace {

// Nobody's file, and the mode lets everybody execute and nobody read: no process of a session
// can read or trace the agent.
constexpr std::uint32_t k_agent_uid = 65534;
constexpr std::uint32_t k_agent_mode = 0111;
constexpr std::size_t k_tar_overhead = 64 << 10; // headers around one file, extended ones included
constexpr std::int64_t k_filler_patience_ms = 20'000;
constexpr Milliseconds k_filler_poll{50};

const agent::EmbeddedAgent& agent_for(const std::string& architecture) {
    for (const auto& candidate : agent::embedded_agents()) {
        if (candidate.architecture == architecture) return candidate;
    }
    throw Error(ErrorCode::failed, "this build of sandbox has no agent for an engine on " + architecture)
        .hint("build it with a cross compiler for " + architecture + " installed");
}

// Another instance filling one that is in use would pull the agent from under its containers: what was found whole once, and has
// not been made anew since, is not written to again.
bool is_known_whole(const state::Store& store, const std::string& engine_id, const engine::VolumeInfo& volume) {
    const auto known = store.find_agent_volume(engine_id, volume.name);
    return known && known->created_at == volume.created_at;
}

// Another state directory's process may make the same volume at the same time: it holds the same program.
void make_volume(const state::Store& store, engine::Client& engine, const std::string& name) {
    try {
        engine.create_volume(name, {{domain::k_label_instance, store.instance()},
                                    {domain::k_label_owner, "sandbox"},
                                    {domain::k_label_role, domain::k_role_agent},
                                    {domain::k_label_expires, domain::k_expires_never}});
    } catch (const Error& error) {
        if (error.code() != ErrorCode::exists) throw;
    }
}

bool holds(engine::Client& engine, const HelperContainer& helper, const agent::EmbeddedAgent& agent) {
    std::string tar;
    const std::size_t enough = agent.content.size() + k_tar_overhead;
    const bool is_there = engine.get_archive(helper.id(), k_agent_path, [&](std::string_view bytes) {
        if (tar.size() < enough) tar.append(bytes);
    });
    return is_there && tar.find(agent.content) != std::string::npos;
}

// The agent comes last: a volume that holds it is whole.
void fill(engine::Client& engine, const HelperContainer& helper, const agent::EmbeddedAgent& agent) {
    engine.put_archive(helper.id(), k_agent_mount, engine::tar_of("channel", "", 0755, 0, 0, true));
    engine.put_archive(helper.id(), k_agent_mount,
                       engine::tar_of("sandbox-agent", agent.content, k_agent_mode, k_agent_uid, k_agent_uid));
}

// Instances that share an engine share this volume, and no lock of ours reaches from one to the other: the helper's name does.
void fill_alone(Context& context, engine::Client& engine, const std::string& image, const std::string& volume,
                const agent::EmbeddedAgent& agent) {
    const std::string name = volume + "-filler";
    std::int64_t give_up = boot_now_ms() + k_filler_patience_ms;
    for (;;) {
        try {
            const HelperContainer helper(context, engine, image, volume, k_agent_mount, {}, name);
            if (!holds(engine, helper, agent)) fill(engine, helper, agent);
            return;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::exists) throw;
        }
        // One that takes as long was left by somebody who was killed.
        if (boot_now_ms() >= give_up) {
            engine.remove_container(name);
            give_up = boot_now_ms() + k_filler_patience_ms; // the next one is somebody else's, who lives
        }
        std::this_thread::sleep_for(k_filler_poll);
    }
}

} // namespace

std::string agent_volume_name(const std::string& architecture) {
    return "sandbox-agent-" + std::string(agent_for(architecture).digest.substr(0, 16));
}

std::string ensure_agent_volume(Context& context, engine::Client& engine, const engine::EngineInfo& info,
                                const std::string& image) {
    const auto& agent = agent_for(info.architecture);
    const std::string name = agent_volume_name(info.architecture);
    state::Store& store = context.store();
    auto volume = engine.inspect_volume(name);
    if (volume && is_known_whole(store, info.id, *volume)) return name;
    const auto lock = store.lock_agent_volume();
    if (!volume) make_volume(store, engine, name);
    volume = engine.inspect_volume(name);
    if (!volume) throw Error(ErrorCode::engine_error, "volume " + name + " was made and is not there");
    if (is_known_whole(store, info.id, *volume)) return name; // another process was faster
    fill_alone(context, engine, image, name, agent);
    volume = engine.inspect_volume(name); // its time may be that of the last change in it
    if (!volume) throw Error(ErrorCode::engine_error, "volume " + name + " is gone again");
    store.put(state::AgentVolumeRow{info.id, name, volume->created_at});
    return name;
}

} // namespace sandbox::app
