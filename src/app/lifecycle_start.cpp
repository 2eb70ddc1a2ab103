// SPDX-License-Identifier: Apache-2.0
#include "app/agent_volume.hpp"
#include "app/deadlines.hpp"
#include "app/events.hpp"
#include "app/greeting.hpp"
#include "app/lifecycle_change.hpp"
#include "app/sessions.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace sandbox::app {
namespace {

using state::SessionState;

constexpr Milliseconds k_patience{30'000}; // one that is only slow must not be taken for half started

// What the manifest refers to is looked up again. A file of a value may lead through links as far as its own directory, and where the caller allows it.
channel::Environment environment_of(const domain::Manifest& manifest, HostRoots roots) {
    for (const auto& [name, value] : manifest.env) {
        if (value.kind == domain::EnvValue::Kind::from_file) roots.push_back(std::filesystem::path(value.value).parent_path().string());
        if (value.kind == domain::EnvValue::Kind::from_env && std::getenv(value.value.c_str()) == nullptr) {
            throw Error(ErrorCode::manifest_invalid, "env." + name + ": the variable " + printable(value.value) + " is not set here")
                .hint("a session's manifest keeps references and no values: export it before sandbox start");
        }
    }
    return resolve_environment(manifest.env, roots);
}

// Whether somebody answers in it. A start that was killed leaves an agent that waits for its hand-shake, and then ends.
bool is_served(Context& context, const state::SessionRow& row) {
    try {
        channel::status(link_to(context, row), k_patience);
        return true;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_unreachable && error.code() != ErrorCode::denied && error.code() != ErrorCode::protocol_error) throw;
        return false;
    }
}

class Starting {
  public:
    Starting(Context& context, HeldSession held, const HostRoots& roots)
        : m_context(context), m_held(std::move(held)), m_row(m_held.row), m_manifest(domain::from_canonical_json(m_row.manifest_json)), m_roots(roots) {}

    ChangedSession run();

  private:
    std::optional<ChangedSession> settle_running();
    void check_agent();
    void start();
    void greet();
    void keep_row();
    void undo() noexcept;

    Context& m_context;
    HeldSession m_held;
    state::SessionRow& m_row;
    const domain::Manifest m_manifest;
    const HostRoots& m_roots;
    std::optional<channel::HelloListener> m_listener;
    channel::SessionSetup m_setup;
};

// One that runs is left as it is, unless it is half started. Absent: it is to be started.
std::optional<ChangedSession> Starting::settle_running() {
    if (!m_held.is_started()) return std::nullopt;
    if (m_held.is_frozen()) throw Error(ErrorCode::conflict, title_of(m_row) + " is paused").hint("sandbox resume " + m_row.id + " lets it run on");
    const bool may_be_half_started = m_row.state == SessionState::stopped;
    if (may_be_half_started && !is_served(m_context, m_row)) {
        m_held.engine.stop_container(m_row.container_id, std::chrono::seconds(0));
        return std::nullopt;
    }
    if (may_be_half_started) keep_row();
    return ChangedSession{m_row, SessionState::running, false, "it runs already"};
}

// What is about to be run is looked at once more; the agent of an older version can only be there.
void Starting::check_agent() {
    const auto mount = std::ranges::find(m_held.container.mounts, k_agent_mount, &engine::MountInfo::target);
    const std::string volume = mount == m_held.container.mounts.end() ? "" : mount->name;
    const engine::EngineInfo info = m_held.engine.info();
    if (volume == agent_volume_name(info.architecture)) {
        ensure_agent_volume(m_context, m_held.engine, info, m_manifest.image);
    } else if (volume.empty() || !m_held.engine.inspect_volume(volume)) {
        throw Error(ErrorCode::failed, title_of(m_row) + " was made by an older sandbox, whose agent is not on the engine any more")
            .hint("sandbox cp takes files out of it; then create a new one");
    }
}

void Starting::start() {
    if (m_row.channel == state::ChannelKind::socket) m_listener.emplace(m_context.store().session_directory(m_row.id));
    m_held.engine.start_container(m_row.container_id);
}

void Starting::greet() {
    m_setup.workdir = m_manifest.workdir;
    m_setup.ttl_boot_ms = end_on_boot_clock(m_row);
    m_setup.idle_timeout_ms = m_row.idle_timeout_ms;
    m_row.channel = greet_agent(m_context, m_held.engine, m_row, m_listener, m_setup, false).channel;
}

void Starting::keep_row() {
    m_row.state = SessionState::running;
    m_row.reason.clear();
    m_context.store().update(m_row);
}

// Back to stopped: an agent without a set-up would end by itself, but only after a while.
void Starting::undo() noexcept {
    try {
        m_listener.reset();
        m_held.engine.stop_container(m_row.container_id, std::chrono::seconds(0));
    } catch (const std::exception&) {
    }
}

ChangedSession Starting::run() {
    if (auto settled = settle_running()) return *settled;
    if (is_over(m_row)) {
        throw over_error(m_row).hint("sandbox extend " + m_row.id + " 1h gives it more time; then it can be started. sandbox cp takes files out of it as it is");
    }
    m_setup.env = environment_of(m_manifest, m_roots);
    check_agent();
    // Until it is whole, its row says stopped.
    m_row.state = SessionState::stopped;
    m_context.store().update(m_row);
    try {
        start();
        greet();
    } catch (...) {
        undo();
        throw;
    }
    keep_row();
    record(m_context, state::EventKind::started, m_row, {{"expiresAt", format_rfc3339(m_row.expires_ms)}});
    return {m_row, SessionState::running, true, {}};
}

} // namespace

LifecycleReport start_sessions(Context& context, const SessionSelection& selection, const HostRoots& roots) {
    return change_each(context, selection, [&roots](Context& own, const state::SessionRow& seen) { return Starting(own, hold_session(own, seen), roots).run(); });
}

} // namespace sandbox::app
