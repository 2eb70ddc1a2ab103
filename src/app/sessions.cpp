// SPDX-License-Identifier: Apache-2.0
#include "app/sessions.hpp"

#include "app/agent_volume.hpp"
#include "app/deadlines.hpp"
#include "app/past.hpp"
#include "app/presence.hpp"
#include "app/wall_end.hpp"
#include "domain/labels.hpp"
#include "domain/names.hpp"
#include "util/text.hpp"

namespace sandbox::app {
namespace {

std::string read_secret(const std::string& session_directory) {
    return read_file(session_directory + "/secret", 4096).value_or("");
}

// Whether cp takes files out of it: one that is removed by the engine is about to be gone.
bool gives_files(const engine::ContainerInfo& container) {
    return !container.settings.auto_remove && (container.status == "exited" || container.status == "dead");
}

// One whose container does not run any more, for whoever wanted to use it.
Error ended_error(const state::Store& store, const state::SessionRow& row, const std::string& who, const engine::ContainerInfo* container) {
    const bool has_expired = is_over(row);
    const bool was_stopped = container != nullptr && row.state == state::SessionState::stopped;
    const bool is_kept = container != nullptr && is_kept_stopped(*container);
    std::string text = has_expired   ? who + " expired at " + format_rfc3339(wall_end_ms(row)) + (is_kept ? ", and is kept stopped" : "")
                       : was_stopped ? who + " is stopped"
                                     : who + " has ended: its container is " + (container != nullptr ? "stopped" : "gone") +
                                           " (" + (is_abandoned(store, row.id) ? std::string(k_abandoned) : "idle time-out, a crash, or an engine restart") + ")";
    std::string hint = is_kept && has_expired ? "sandbox extend " + row.id + " 1h and then sandbox start bring it back; "
                       : is_kept              ? "sandbox start " + row.id + " starts it again; "
                                              : "";
    if (container != nullptr && gives_files(*container)) hint += "sandbox cp still takes files out of it; ";
    hint += "sandbox destroy " + row.id + " clears what is left" + (is_kept ? "" : "; then create a new one");
    return Error(ErrorCode::session_gone, text).hint(hint);
}

// One whose container runs, and whose agent does not answer.
Error silent_error(const state::Store& store, const state::SessionRow& row, const std::string& who, const Error& cause) {
    if (row.state != state::SessionState::stopped) {
        return Error(ErrorCode::session_unreachable, who + " runs but its agent does not answer: " + cause.message());
    }
    // The row is written before a stop has begun, and again after a start has ended.
    if (store.is_session_locked(row.id)) return Error(ErrorCode::session_unreachable, who + " is being stopped or started");
    return Error(ErrorCode::session_unreachable, who + " is half started: what started it was killed").hint("sandbox start " + row.id + " starts it whole");
}

// An engine runs nothing in a container that is stopped, paused or gone, and each says so in words of its own.
std::unique_ptr<Stream> dial_bridge(engine::Client& engine, const std::string& container_id) {
    try {
        return open_bridge(engine, container_id);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::engine_unreachable || error.code() == ErrorCode::interrupted) throw;
        const auto container = engine.inspect_container(container_id);
        if (container && container->running && !container->paused) throw;
        throw Error(ErrorCode::session_unreachable, error.message()); // explain_unreachable() says why
    }
}

} // namespace

std::optional<std::int64_t> expired_ms(const state::SessionRow& row, std::int64_t seen_ms) {
    if (row.expires_ms <= 0) return std::nullopt;
    // Whoever closed it knew, whatever the wall clock said then.
    if (row.state == state::SessionState::expired && row.reason == "ttl") return row.expires_ms;
    if (row.expires_ms > seen_ms) return std::nullopt;
    return row.expires_ms;
}

state::SessionRow find_session(const state::Store& store, const std::string& owner, std::string_view id_or_name) {
    if (id_or_name.empty()) throw Error(ErrorCode::usage, "the session's name is empty");
    // No name looks like an id, so one question to the database is enough.
    auto row = domain::is_session_id(id_or_name) ? store.find(id_or_name) : store.find_by_name(owner, id_or_name);
    if (row && row->owner != owner) row.reset();
    if (row) return *row;
    Error error(ErrorCode::not_found, "no session " + quoted(id_or_name) + " of owner " + quoted(owner));
    if (store.exists_for_other_owner(owner, id_or_name)) {
        error.hint("another owner has one: name it with --owner, or see sandbox ps --all-owners");
    } else {
        error.hint("sandbox ps lists the sessions in " + store.directory());
    }
    throw error;
}

state::SessionRow find_open_session(const state::Store& store, const std::string& owner, std::string_view id_or_name) {
    auto row = find_session(store, owner, id_or_name);
    if (state::is_closed(row.state)) throw Error(ErrorCode::session_gone, what_became_of(row));
    if (row.state == state::SessionState::creating) {
        throw Error(ErrorCode::busy, "session " + quoted(id_or_name) + " is still being created");
    }
    if (row.state == state::SessionState::destroying || row.state == state::SessionState::failed) {
        throw Error(ErrorCode::session_gone, "session " + quoted(id_or_name) + " is being destroyed")
            .hint("sandbox destroy finishes it");
    }
    return row;
}

std::unique_ptr<Stream> open_bridge(engine::Client& engine, std::string_view container_id) {
    return std::move(engine.exec(container_id, {.argv = {k_agent_path, "bridge"},
                                                .user = {},
                                                .workdir = "/",
                                                .env = {},
                                                .attach_stdin = true}).stream);
}

channel::Link link_to(Context& context, const state::SessionRow& row) {
    const std::string directory = context.lookup().session_directory(row.id);
    channel::Link link = row.channel == state::ChannelKind::socket
                             ? channel::socket_link(directory)
                             : bridge_link(directory, row, [&context, row]() -> engine::Client& {
                                   return context.engine_of(row.endpoint, row.engine_id);
                               });
    link.on_silence = [&context, row] {
        const auto container = context.engine_of(row.endpoint, row.engine_id).inspect_container(row.container_id);
        if (container && container->running && !container->paused) return;
        throw Error(ErrorCode::session_unreachable, "its container does not run"); // explain_unreachable() says why
    };
    return link;
}

channel::Link bridge_link(const std::string& session_directory, const state::SessionRow& row, std::function<engine::Client&()> engine) {
    auto dial = [id = row.container_id, engine = std::move(engine)] { return dial_bridge(engine(), id); };
    return {dial, read_secret(session_directory), {}};
}

void explain_unreachable(Context& context, const state::SessionRow& row, const Error& cause) {
    const std::string who = "session " + quoted(row.name.empty() ? row.id : row.name);
    const auto now = context.lookup().find(row.id);
    if (now && state::is_closed(now->state)) throw Error(ErrorCode::session_gone, what_became_of(*now));
    if (!now || now->state == state::SessionState::destroying) {
        throw Error(ErrorCode::session_gone, who + " was destroyed meanwhile");
    }
    const auto container = context.engine_of(row.endpoint, row.engine_id).inspect_container(row.container_id);
    // Podman does not call a frozen one running.
    if (!container || !(container->running || container->paused)) throw ended_error(context.lookup(), *now, who, container ? &*container : nullptr);
    if (container->paused && is_over(*now)) {
        throw Error(ErrorCode::session_gone, who + " expired at " + format_rfc3339(wall_end_ms(*now)) + ", and is paused")
            .hint("sandbox destroy " + row.id + " clears it away");
    }
    if (container->paused) {
        throw Error(ErrorCode::session_unreachable, who + " is paused").hint("sandbox resume " + row.id + " lets it run on");
    }
    throw silent_error(context.lookup(), *now, who, cause);
}

bool is_kept_stopped(const engine::ContainerInfo& container) {
    return container.status == "exited" && !container.settings.auto_remove; // a "dead" one starts never again
}

engine::Filter session_filter(const state::Store& store, std::string_view session_id) {
    engine::Filter filter;
    filter.labels = {{domain::k_label_instance, store.instance()},
                     {domain::k_label_session, std::string(session_id)}};
    return filter;
}

} // namespace sandbox::app
