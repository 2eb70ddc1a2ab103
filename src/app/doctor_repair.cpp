// SPDX-License-Identifier: Apache-2.0
// doctor --repair: the state is made this machine's, and rows that were lost come back from the engine's labels (law 2). It
// deletes nothing.
#include "app/agent_volume.hpp"
#include "app/deadlines.hpp"
#include "app/doctor_checks.hpp"
#include "app/manifest_recovery.hpp"
#include "app/sessions.hpp"
#include "domain/labels.hpp"
#include "domain/names.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sandbox::app::doctor {
namespace {

using domain::label;

// Labels are whatever somebody who may use the engine wrote there: they pass the rules of what was typed.
bool are_names_valid(const engine::Labels& labels) {
    try {
        domain::check_owner(label(labels, domain::k_label_owner));
        const std::string name = label(labels, domain::k_label_name);
        if (!name.empty()) domain::check_session_name(name);
        const std::string workspace = label(labels, domain::k_label_workspace);
        if (!workspace.empty()) domain::check_name("workspace", workspace);
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::string joined(const std::vector<std::string>& losses) {
    std::vector<std::string> told;
    std::ranges::copy_if(losses, std::back_inserter(told), [](const std::string& loss) { return !loss.empty(); });
    return join(told, "; ");
}

class Repairer {
  public:
    Repairer(Context& context, const DoctorOptions& options) : m_context(context), m_options(options) {}

    std::vector<Repair> run();

  private:
    template <typename Work> void attempt(const std::string& what, Work work);
    void open_state();
    void adopt_instance();
    void adopt_machine();
    void rebuild();
    void rebuild_workspace(const engine::VolumeInfo& volume);
    void ask_end(state::SessionRow& row, const engine::ContainerInfo& container) const;
    std::string lost_secret(const state::SessionRow& row) const;
    std::string insert(state::SessionRow& row);
    void rebuild_session(engine::Client& engine, const engine::ContainerInfo& listed);
    state::SessionRow row_from(const engine::ContainerInfo& container, domain::Manifest manifest) const;
    void find_workspace(const engine::ContainerInfo& container, const std::string& workdir, state::SessionRow& row, domain::Workspace& workspace) const;

    Context& m_context;
    const DoctorOptions& m_options;
    state::Store* m_store = nullptr;
    std::string m_endpoint;
    std::string m_engine_id;
    std::vector<Repair> m_done;
};

// Each stands alone: one that fails is told, and the others go on.
template <typename Work> void Repairer::attempt(const std::string& what, Work work) {
    try {
        if (work()) m_done.push_back({what, true, {}, {}});
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        m_done.push_back({what, false, error.message(), {}});
    }
}

void Repairer::open_state() {
    const auto before = state::diagnose(m_context.state_directory());
    // Nothing was ever here: there is nothing to repair, and none is made.
    if (!before.exists && before.error.empty() && !m_options.instance) return;
    attempt("the state was opened", [&] {
        m_store = &m_context.store();
        const auto after = state::diagnose(m_context.state_directory());
        return before.database != after.database || before.has_identity != after.has_identity || before.is_suspect != after.is_suspect || before.mode != after.mode;
    });
}

// The rows that come back are that instance's; without its id there are none.
void Repairer::adopt_instance() {
    if (m_store == nullptr || !m_options.instance || m_store->instance() == *m_options.instance) return;
    attempt("the state has the instance " + *m_options.instance + " from now on", [&] {
        m_store->adopt_instance(*m_options.instance);
        return true;
    });
    if (!m_done.back().done) m_store = nullptr;
}

void Repairer::adopt_machine() {
    attempt("the state is this machine's from now on", [&] {
        if (m_store->is_on_its_machine()) return false;
        m_store->adopt_machine();
        return true;
    });
}

void Repairer::rebuild_workspace(const engine::VolumeInfo& volume) {
    const std::string id = label(volume.labels, domain::k_label_workspace);
    const std::string owner = label(volume.labels, domain::k_label_owner);
    if (id.empty() || !are_names_valid(volume.labels)) return;
    if (volume.name != domain::workspace_object_name(m_store->instance(), owner, id)) return;
    attempt("workspace " + quoted(id) + " of " + owner + " is known again", [&] {
        const auto lock = m_store->lock_workspace(owner, id);
        if (m_store->find_workspace(owner, id)) return false;
        state::WorkspaceRow row;
        row.owner = owner;
        row.id = id;
        row.volume = volume.name;
        row.endpoint = m_endpoint;
        row.engine_id = m_engine_id;
        row.labels = user_labels(volume.labels);
        row.created_ms = parse_rfc3339(volume.created_at).value_or(wall_now_ms());
        row.last_used_ms = wall_now_ms(); // nobody knows: gc --workspaces counts from now
        row.confirmed = true;
        m_store->put(row);
        return true;
    });
}

// The workspace that a container mounts, by the rows that its volume's labels gave.
void Repairer::find_workspace(const engine::ContainerInfo& container, const std::string& workdir, state::SessionRow& row,
                              domain::Workspace& workspace) const {
    const auto mount = std::ranges::find(container.mounts, workdir, &engine::MountInfo::target);
    if (mount == container.mounts.end()) return;
    const auto workspaces = m_store->list_workspaces(row.owner);
    const auto held = std::ranges::find(workspaces, mount->name, &state::WorkspaceRow::volume);
    if (held == workspaces.end()) return;
    row.volume = held->volume;
    row.workspace_id = held->id;
    row.exclusive = container.name == held->volume;
    workspace.mode = domain::WorkspaceMode::persistent;
    workspace.id = held->id;
    workspace.shared = !row.exclusive;
    workspace.readonly = !mount->read_write;
}

state::SessionRow Repairer::row_from(const engine::ContainerInfo& container, domain::Manifest manifest) const {
    state::SessionRow row;
    row.id = label(container.labels, domain::k_label_session);
    row.name = label(container.labels, domain::k_label_name);
    row.owner = label(container.labels, domain::k_label_owner);
    row.state = container.running ? state::SessionState::running : state::SessionState::stopped;
    row.endpoint = m_endpoint;
    row.engine_id = m_engine_id;
    row.container_name = container.name;
    row.container_id = container.id;
    row.image = manifest.image;
    row.labels = user_labels(container.labels);
    row.boot_id = boot_id();
    row.created_ms = parse_rfc3339(label(container.labels, domain::k_label_created)).value_or(parse_rfc3339(container.created_at).value_or(wall_now_ms()));
    row.expires_ms = parse_rfc3339(label(container.labels, domain::k_label_expires)).value_or(0);
    if (row.expires_ms > 0) row.expires_boot_ms = boot_now_ms() + (row.expires_ms - wall_now_ms());
    row.idle_timeout_ms = manifest.lifecycle.idle_timeout.count();
    // The agent's answer on its socket tells whether that still serves; a container without the mount never had one.
    const bool has_socket = ::access((m_store->session_directory(row.id) + "/agent.sock").c_str(), F_OK) == 0;
    const bool is_mounted = std::ranges::find(container.mounts, k_channel_mount, &engine::MountInfo::target) != container.mounts.end();
    // The engine mounts none of the volumes for a copy out of a stopped container when this one's source is missing.
    if (is_mounted) make_directories(m_store->session_directory(row.id) + "/channel", 0755);
    row.channel = has_socket && is_mounted ? state::ChannelKind::socket : state::ChannelKind::bridge;
    find_workspace(container, manifest.workdir, row, manifest.workspace);
    row.manifest_json = domain::to_canonical_json(manifest);
    row.manifest_digest = domain::manifest_digest(manifest);
    return row;
}

// The label has the first end: one that was extended is known to its agent alone.
void Repairer::ask_end(state::SessionRow& row, const engine::ContainerInfo& container) const {
    if (!container.running || container.paused) return;
    const auto end = end_by_agent(link_to(m_context, row));
    if (end) set_end(row, Milliseconds(*end - wall_now_ms()));
}

// Through the engine, the agent answers to those alone who know the session's secret.
std::string Repairer::lost_secret(const state::SessionRow& row) const {
    const bool is_needed = row.state == state::SessionState::running && row.channel == state::ChannelKind::bridge;
    if (!is_needed || ::access((m_store->session_directory(row.id) + "/secret").c_str(), F_OK) == 0) return {};
    return "its secret is lost, so it can be listed and destroyed, but not entered";
}

// A name that another session has taken meanwhile is lost, and nothing else with it. Returns what is lost.
std::string Repairer::insert(state::SessionRow& row) {
    const auto holder = m_store->find_by_name(row.owner, row.name);
    if (!holder || state::is_closed(holder->state)) {
        m_store->insert(row);
        return {};
    }
    const std::string name = std::exchange(row.name, {});
    m_store->insert(row);
    return "its name " + quoted(name) + " is that of " + holder->id + " now";
}

void Repairer::rebuild_session(engine::Client& engine, const engine::ContainerInfo& listed) {
    const std::string id = label(listed.labels, domain::k_label_session);
    if (!domain::is_session_id(id) || !are_names_valid(listed.labels)) return;
    std::string loss;
    attempt("session " + id + " is known again", [&] {
        // A closed row is an end that somebody has begun.
        if (m_store->find(id)) return false;
        const auto lock = m_store->try_lock_session(id);
        if (!lock) return false;
        const auto container = engine.inspect_container(listed.id);
        const bool is_ours = container && (container->running || is_kept_stopped(*container)) && !m_store->find(id);
        if (is_ours) {
            auto recovered = recover_manifest(m_store->session_directory(id), *container);
            auto row = row_from(*container, std::move(recovered.manifest));
            ask_end(row, *container);
            loss = joined({std::move(recovered.loss), lost_secret(row), insert(row)});
        } else if (const auto row = m_store->find(id); !row || state::is_closed(row->state)) {
            m_store->forget_lock(id);
        }
        return is_ours;
    });
    if (!loss.empty() && m_done.back().done) m_done.back().warning = loss;
}

void Repairer::rebuild() {
    attempt("the engine was asked for what belongs to this state", [&] {
        auto& engine = m_context.engine();
        m_endpoint = engine.endpoint().url;
        m_engine_id = engine.id();
        engine::Filter filter;
        filter.labels = {{domain::k_label_instance, m_store->instance()}};
        for (const auto& volume : engine.list_volumes(filter)) rebuild_workspace(volume);
        filter.labels[domain::k_label_role] = domain::k_role_session;
        for (const auto& container : engine.list_containers(filter)) rebuild_session(engine, container);
        return false;
    });
}

std::vector<Repair> Repairer::run() {
    open_state();
    adopt_instance();
    if (m_store == nullptr) return std::move(m_done);
    adopt_machine();
    rebuild();
    return std::move(m_done);
}

} // namespace

std::vector<Repair> repair(Context& context, const DoctorOptions& options) { return Repairer(context, options).run(); }

} // namespace sandbox::app::doctor
