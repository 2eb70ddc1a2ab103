// SPDX-License-Identifier: Apache-2.0
#include "app/create.hpp"

#include "app/agent_volume.hpp"
#include "app/baseline.hpp"
#include "app/container_spec.hpp"
#include "app/events.hpp"
#include "app/greeting.hpp"
#include "app/helper_container.hpp"
#include "app/interrupt.hpp"
#include "app/manifest_recovery.hpp"
#include "app/network.hpp"
#include "app/presence.hpp"
#include "app/reuse.hpp"
#include "app/sessions.hpp"
#include "app/teardown.hpp"
#include "app/workspaces.hpp"
#include "domain/labels.hpp"
#include "domain/names.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <iterator>

namespace sandbox::app {
namespace {

using domain::Manifest;

constexpr Milliseconds k_ending_wait{15000}; // for another command that ends the holder of a name or a lease
constexpr Milliseconds k_ending_poll{20};

// One creation: the parts that its steps share.
class Creation {
  public:
    Creation(Context& context, const Manifest& manifest, const CreateOptions& options)
        : m_context(context), m_store(context.store()), m_engine(context.engine()), m_manifest(manifest),
          m_options(options) {}

    CreatedSession run();

  private:
    void prepare();
    void ensure_image();
    void claim();
    void set_times();
    void make_room();
    void clear(std::optional<state::SessionRow> holder);
    void make();
    void make_ephemeral_workspace();
    void make_workspace();
    void make_container();
    void start_container();
    void note_limits(std::vector<std::string> warnings);
    bool uses_socket() const;
    void greet();
    void hand_over_workspace();
    void undo() noexcept;

    Context& m_context;
    state::Store& m_store;
    engine::Client& m_engine;
    const Manifest& m_manifest;
    const CreateOptions& m_options;
    Interrupt m_interrupt;
    engine::EngineInfo m_info;
    state::SessionRow m_row;
    std::optional<FileLock> m_session_lock;
    std::optional<FileLock> m_workspace_lock;
    bool m_made_workspace = false;
    std::optional<channel::HelloListener> m_listener;
    channel::SessionSetup m_setup;
    channel::Hello m_hello;
    std::shared_ptr<FileLock> m_presence;
    std::string m_seccomp;
    std::vector<std::string> m_notes;
    GitClones m_clones;
};

// Everything that can fail without having changed anything comes first.
void Creation::prepare() {
    HostInputs inputs = read_host_inputs(m_manifest, m_options.roots);
    m_setup.env = std::move(inputs.env);
    m_seccomp = std::move(inputs.seccomp);
    m_clones = GitClones(m_manifest.seeds, [this] { m_interrupt.check(); });
    m_info = m_engine.info();
    ensure_image();
}

void Creation::ensure_image() {
    if (m_manifest.pull != domain::PullPolicy::always && m_engine.inspect_image(m_manifest.image)) return;
    if (m_manifest.pull == domain::PullPolicy::never) {
        throw Error(ErrorCode::image_not_found, "image " + m_manifest.image + " is not on this engine")
            .hint("pull is \"never\"; make it with sandbox image bootstrap or sandbox image import, or allow pulling");
    }
    m_engine.pull_image(m_manifest.image, [this](std::string_view line) {
        m_context.progress(line);
        m_interrupt.check();
    });
}

// The row, before any effect that it points to (law 1). From here on a crash leaves something gc finds.
void Creation::claim() {
    m_row.id = domain::new_session_id();
    m_row.name = m_manifest.name;
    m_row.owner = m_context.owner();
    m_row.endpoint = m_engine.endpoint().url;
    m_row.engine_id = m_info.id;
    m_row.container_name = domain::container_name(m_row.id);
    m_row.image = m_manifest.image;
    m_row.manifest_json = domain::to_canonical_json(m_manifest);
    m_row.manifest_digest = domain::manifest_digest(m_manifest);
    m_row.labels = m_manifest.labels;
    m_row.boot_id = boot_id();
    m_row.idle_timeout_ms = m_manifest.lifecycle.idle_timeout.count();
    if (m_manifest.workspace.mode == domain::WorkspaceMode::persistent) {
        m_row.workspace_id = m_manifest.workspace.id;
        m_row.exclusive = !m_manifest.workspace.shared;
        // The engine itself refuses a second container of this name, and so a second writer.
        if (m_row.exclusive) {
            m_row.container_name =
                domain::workspace_object_name(m_store.instance(), m_row.owner, m_row.workspace_id);
        }
    }
    make_room();
    m_session_lock = m_store.lock_session(m_row.id);
    try {
        insert_when_admitted(m_context, m_row, m_options.admission, m_interrupt, [this] { set_times(); });
    } catch (const Error&) {
        m_store.forget_lock(m_row.id);
        throw;
    }
}

void Creation::set_times() {
    m_row.created_ms = wall_now_ms();
    m_row.expires_ms = m_row.created_ms + m_manifest.lifecycle.ttl.count();
    m_row.expires_boot_ms = boot_now_ms() + m_manifest.lifecycle.ttl.count();
}

// A session that has ended by itself holds its name and its lease only until somebody asks for them; one that another command
// is ending right now, until that is done.
void Creation::make_room() {
    if (!m_row.name.empty()) clear(m_store.find_by_name(m_row.owner, m_row.name));
    if (!m_row.workspace_id.empty()) clear(m_store.find_lease_holder(m_row.owner, m_row.workspace_id));
}

void Creation::clear(std::optional<state::SessionRow> holder) {
    const std::int64_t give_up = boot_now_ms() + k_ending_wait.count();
    while (holder && !state::is_closed(holder->state) && clear_if_ended(m_context, *holder, m_row.workspace_id) == Cleared::busy) {
        holder = m_store.find(holder->id);
        const bool is_made = holder && holder->state == state::SessionState::creating;
        if (is_made || boot_now_ms() > give_up) return;
        m_interrupt.wait(k_ending_poll);
    }
}

bool Creation::uses_socket() const {
    if (m_options.channel == ChannelChoice::bridge) return false;
    return m_engine.endpoint().kind == engine::Endpoint::Kind::unix_socket;
}

// An anonymous volume goes with its container, whoever removes that. Where it would have no labels, nothing could find one
// that was left (law 2), so there it is made beforehand; after an end from inside it waits for the next create, destroy or gc.
void Creation::make_ephemeral_workspace() {
    if (!m_info.drops_volume_labels) return;
    m_row.volume = m_row.container_name;
    m_store.update(m_row);
    m_engine.create_volume(m_row.volume, session_labels(m_row, m_store.instance(), domain::k_role_workspace));
}

void Creation::make_workspace() {
    if (m_row.workspace_id.empty()) return make_ephemeral_workspace();
    m_workspace_lock = m_store.lock_workspace(m_row.owner, m_row.workspace_id);
    m_made_workspace = open_workspace(m_context, m_engine, m_info.id, m_manifest, m_row, m_options.check_reopen, m_interrupt);
    m_store.update(m_row);
}

void Creation::make_container() {
    if (uses_socket()) m_listener.emplace(m_store.session_directory(m_row.id));
    const std::string volume = ensure_agent_volume(m_context, m_engine, m_info, m_manifest.image);
    ContainerParts parts{m_row,     m_manifest, m_store.instance(),
                         volume,    m_listener ? m_listener->mount_directory() : "",
                         m_seccomp, network_for(m_context, m_engine, m_info.id, m_manifest.network),
                         !m_row.workspace_id.empty() && !m_made_workspace};
    m_interrupt.check();
    try {
        m_row.container_id = m_engine.create_container(container_spec(parts));
    } catch (const Error& error) {
        // The state directory is not on the engine's machine (a sibling container, a virtual machine).
        if (!m_listener || error.code() != ErrorCode::not_found) throw;
        m_listener.reset();
        parts.channel_directory.clear();
        m_row.container_id = m_engine.create_container(container_spec(parts));
    }
    note_limits(m_engine.last_warnings());
    m_row.channel = m_listener ? state::ChannelKind::socket : state::ChannelKind::bridge;
    m_store.update(m_row);
    if (!m_row.workspace_id.empty()) check_lease(m_store, m_engine, m_row);
    // Once more, now that the container keeps it from being pruned: what is in it is about to be run.
    ensure_agent_volume(m_context, m_engine, m_info, m_manifest.image);
    m_interrupt.check();
    start_container();
}

void Creation::start_container() {
    try {
        m_engine.start_container(m_row.container_id);
    } catch (Error& error) {
        if (error.message().find(std::string(k_agent_path) + ": permission denied") == std::string::npos) throw;
        throw error.hint("the session's user may not pass the image's root directory: its mode should be 0755 in the archive it was imported from");
    }
}

// A rootless engine on cgroup v1 takes limits, shows them, applies none, and warns of nothing.
void Creation::note_limits(std::vector<std::string> warnings) {
    std::vector<std::string> ignored;
    if (m_info.memory_limit == false) ignored.emplace_back("memory");
    if (m_info.cpu_quota == false) ignored.emplace_back("CPU time");
    if (m_info.pids_limit == false) ignored.emplace_back("processes");
    if (warnings.empty() && !ignored.empty()) warnings.push_back("this engine holds no limit of " + join(ignored, ", ") + "; sandbox doctor tells why");
    std::ranges::transform(warnings, std::back_inserter(m_notes), [](const std::string& warning) { return printable(warning); });
}

void Creation::greet() {
    m_setup.workdir = m_manifest.workdir;
    m_setup.ttl_boot_ms = m_row.expires_boot_ms;
    m_setup.idle_timeout_ms = m_row.idle_timeout_ms;
    m_setup.ends_with_creator = m_options.ends_with_creator;
    Greeting greeting = greet_agent(m_context, m_engine, m_row, m_listener, m_setup, m_options.channel == ChannelChoice::socket);
    m_hello = std::move(greeting.hello);
    m_row.channel = greeting.channel;
}

// The volume's root belongs to root; a session that runs as somebody else gets it once, never recursively.
void Creation::hand_over_workspace() {
    const bool is_new = m_row.workspace_id.empty() || m_made_workspace;
    if (m_hello.workspace_writable || m_manifest.workspace.readonly) return;
    if (!is_new) {
        m_notes.push_back("the session's user cannot write " + m_manifest.workdir + ", which another user was given");
        return;
    }
    const auto tar_for = [this](const std::string& name) {
        return engine::tar_of(name, "", 0755, m_hello.uid, m_hello.gid, true);
    };
    if (!m_manifest.security.readonly_rootfs) {
        const auto slash = m_manifest.workdir.rfind('/');
        const std::string parent = slash == 0 ? "/" : m_manifest.workdir.substr(0, slash);
        m_engine.put_archive(m_row.container_id, parent, tar_for(m_manifest.workdir.substr(slash + 1)));
    } else {
        std::string volume = m_row.volume;
        if (const auto container = m_engine.inspect_container(m_row.container_id); container && volume.empty()) {
            for (const auto& mount : container->mounts) {
                if (mount.target == m_manifest.workdir) volume = mount.name;
            }
        }
        const HelperContainer helper(m_context, m_engine, m_manifest.image, volume, "/handover", m_row.id);
        m_engine.put_archive(helper.id(), "/", tar_for("handover"));
    }
    if (!channel::status(link_to(m_context, m_row)).workspace_writable) {
        m_notes.push_back("the session's user cannot write " + m_manifest.workdir);
    }
}

void Creation::make() {
    keep_manifest(m_store.session_directory(m_row.id), m_row.manifest_json);
    if (m_options.ends_with_creator) m_presence = std::make_shared<FileLock>(lock_presence(m_store, m_row.id));
    make_workspace();
    make_container();
    greet();
    hand_over_workspace();
    if (!m_row.workspace_id.empty()) confirm_workspace(m_store, m_row);
    m_workspace_lock.reset();
    if (!m_hello.home_writable) m_notes.push_back("the image's HOME is not writable; HOME is " + m_hello.home);
    m_interrupt.check();
    plant(link_to(m_context, m_row), m_manifest.seeds, m_clones);
    m_interrupt.check();
    record_baseline(link_to(m_context, m_row), m_store.session_directory(m_row.id));
    m_interrupt.check();
    m_row.state = state::SessionState::running;
    m_store.update(m_row);
}

// Only what this call made goes. What an engine that went away kept is left to gc, which finds the row.
void Creation::undo() noexcept {
    try {
        m_listener.reset();
        const auto left = tear_down(m_context, m_row, {.reason = "create failed", .forget = true});
        if (m_made_workspace && left.empty()) {
            if (!m_workspace_lock) m_workspace_lock = m_store.lock_workspace(m_row.owner, m_row.workspace_id);
            if (was_used_since(m_store, m_row)) return; // while the seeds were planted
            m_engine.remove_volume(m_row.volume);
            m_store.erase_workspace(m_row.owner, m_row.workspace_id);
        }
    } catch (const std::exception&) {
    }
}

CreatedSession Creation::run() {
    prepare();
    m_interrupt.check();
    claim();
    try {
        make();
    } catch (...) {
        undo();
        throw;
    }
    if (!m_options.is_trial) {
        record(m_context, state::EventKind::created, m_row, {{"image", m_row.image}, {"expiresAt", format_rfc3339(m_row.expires_ms)}});
    }
    return {m_row, m_notes, false, m_hello.creator, m_presence};
}

} // namespace

CreatedSession create_session(Context& context, const Manifest& manifest, const CreateOptions& options) {
    if (!options.is_trial) take_overdue(context);
    if (!options.reuse) return Creation(context, manifest, options).run();
    for (;;) {
        if (auto row = find_reusable(context, manifest)) return {*std::move(row), {}, true};
        try {
            return Creation(context, manifest, options).run();
        } catch (const Error& error) {
            // Somebody else made it in between: then it is that one.
            const auto holder = context.store().find_by_name(context.owner(), manifest.name);
            const bool is_taken = holder && !state::is_closed(holder->state);
            if (error.code() != ErrorCode::exists || !is_taken) throw;
            if (holder->state != state::SessionState::creating && holder->state != state::SessionState::running) throw;
        }
    }
}

} // namespace sandbox::app
