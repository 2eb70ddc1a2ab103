// SPDX-License-Identifier: Apache-2.0
#include "app/teardown.hpp"

#include "app/deadlines.hpp"
#include "app/events.hpp"
#include "app/presence.hpp"
#include "app/sessions.hpp"
#include "app/wall_end.hpp"
#include "app/workspaces.hpp"
#include "domain/labels.hpp"
#include "domain/manifest.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <set>

namespace sandbox::app {
namespace {

constexpr std::size_t k_overdue_at_once = 4;
constexpr std::size_t k_overdue_seen = 64; // more than are taken, so that those that fail don't stand before the others
constexpr std::int64_t k_overdue_budget_ms = 5000;
constexpr std::size_t k_longest_reason = 300; // an engine that can't remove a deep tree names every directory on the way

// A crash leaves a row that is being destroyed; only an attempt that came to its end leaves one with a reason.
bool has_failed(const state::SessionRow& row) { return row.state == state::SessionState::destroying && !row.reason.empty(); }

template <typename Step> void attempt(std::vector<Left>& left, const std::string& what, Step&& step) {
    try {
        step();
    } catch (const Error& error) {
        if (error.code() == ErrorCode::engine_unreachable || error.signal() != 0) throw;
        left.push_back({printable(what), error.message()});
    }
}

void remove_containers(engine::Client& engine, const engine::Filter& filter, const state::SessionRow& row,
                       std::vector<Left>& left) {
    // The row's own container first and without a list call's cost in the way: it is what runs.
    if (!row.container_id.empty()) {
        attempt(left, "container " + row.container_name, [&] { engine.remove_container(row.container_id); });
    }
    for (const auto& container : engine.list_containers(filter)) {
        if (container.id == row.container_id) continue;
        attempt(left, "container " + container.name, [&] { engine.remove_container(container.id); });
    }
}

// A full disk must not keep a session from being destroyed: that may be what makes room.
template <typename Write> void write_in_need(const state::Store& store, Write&& write) {
    try {
        write();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::no_space || !store.free_reserve()) throw;
        write();
    }
}

bool is_persistent(const engine::VolumeInfo& volume) { return volume.labels.contains(domain::k_label_workspace); }

void remove_volumes(engine::Client& engine, const engine::Filter& filter, std::vector<Left>& left) {
    for (const auto& volume : engine.list_volumes(filter)) {
        if (is_persistent(volume)) continue;
        attempt(left, "volume " + volume.name, [&] { engine.remove_volume(volume.name); });
    }
}

void remove_workspace_with_session(Context& context, engine::Client& engine, const state::SessionRow& row, bool is_late,
                                   std::vector<Left>& left) {
    attempt(left, "workspace " + row.workspace_id, [&] {
        const auto manifest = domain::from_canonical_json(row.manifest_json);
        if (!manifest.workspace.destroy_on_session_destroy || row.volume.empty()) return;
        // A create that opens it right now holds this lock until its container mounts the volume.
        const auto lock = context.store().lock_workspace(row.owner, row.workspace_id);
        if (is_used_by_another(context.store(), row)) return;
        // What was not done in its time must not take what another session has put there since.
        if (is_late && was_used_since(context.store(), row)) return;
        const auto workspace = context.store().find_workspace(row.owner, row.workspace_id);
        if (!workspace) return;
        remove_workspace_volume(context.store(), engine, *workspace);
        context.store().erase_workspace(row.owner, row.workspace_id);
    });
}

} // namespace

std::vector<Left> tear_down(Context& context, state::SessionRow row, const Ending& ending) {
    state::Store& store = context.store();
    engine::Client& engine = context.engine_of(row.endpoint, row.engine_id);
    // A lost one has given its lease up, and another may have it.
    const bool was_lost = row.state == state::SessionState::lost;
    const bool is_retry = row.state == state::SessionState::destroying;
    if (!is_retry) {
        row.expires_ms = wall_end_ms(row); // as its last readers know the time: on another boot nobody can tell
        row.state = state::SessionState::destroying;
        row.reason.clear(); // from here on: why it could not be destroyed
        row.exclusive = row.exclusive && !was_lost;
        write_in_need(store, [&] { store.update(row); });
    }
    std::vector<Left> left;
    const auto filter = session_filter(store, row.id);
    remove_containers(engine, filter, row, left);
    remove_volumes(engine, filter, left);
    if (!row.workspace_id.empty() && !ending.forget && !ending.keep_workspace) remove_workspace_with_session(context, engine, row, is_retry || was_lost, left);
    attempt(left, "directory of session " + row.id, [&] { remove_tree(store.session_directory(row.id)); });
    if (!left.empty()) {
        // Said in inspect; and what has failed once is tried again by gc and by name, not by every create and destroy.
        row.reason = shortened(left.front().what + ": " + left.front().error, k_longest_reason);
        write_in_need(store, [&] { store.update(row); });
        return left;
    }
    write_in_need(store, [&] {
        if (ending.forget) store.erase(row.id);
        else store.close(row.id, ending.closed_as, ending.reason);
    });
    if (!ending.forget) {
        row.state = ending.closed_as;
        row.reason = ending.reason;
        const auto kind = ending.closed_as == state::SessionState::expired ? state::EventKind::expired : state::EventKind::destroyed;
        EventDetails details{{"reason", ending.reason}};
        const auto expired = kind == state::EventKind::expired ? expired_ms(row, wall_now_ms()) : std::nullopt;
        if (expired) details.emplace_back("expiredAt", format_rfc3339(*expired));
        record(context, kind, row, std::move(details));
    }
    store.forget_lock(row.id);
    return left;
}

Error left_error(const std::vector<Left>& left) {
    std::string message;
    for (const auto& item : left) {
        message += (message.empty() ? "" : "; ") + item.what + ": " + shortened(item.error, k_longest_reason);
    }
    return Error(ErrorCode::cleanup_failed, message);
}

Cleared clear_if_ended(Context& context, const state::SessionRow& seen, std::string_view wanted_workspace) {
    const auto held = context.store().try_lock_open(seen.id);
    if (!held) {
        const auto now = context.store().find(seen.id);
        return now && !state::is_closed(now->state) ? Cleared::busy : Cleared::yes;
    }
    const state::SessionRow& row = held->row;
    const bool may_run = row.state == state::SessionState::running || row.state == state::SessionState::stopped;
    const bool is_overdue = may_run && is_over(row); // law 9, for whoever wants exactly this one: take_overdue() takes only some
    // A half-made or half-destroyed row whose lock is free has nobody who will finish it.
    if (may_run && !is_overdue && context.engine_of(row.endpoint, row.engine_id).inspect_container(row.container_id)) return Cleared::no;
    Ending ending{state::SessionState::expired, is_overdue ? "ttl" : k_ended_by_itself, row.state == state::SessionState::creating};
    if (!may_run) ending = {state::SessionState::destroyed, "finished for its successor", ending.forget};
    ending.keep_workspace = row.workspace_id == wanted_workspace;
    return tear_down(context, row, ending).empty() ? Cleared::yes : Cleared::no;
}

namespace {

// Why a session is over whatever its container says; absent while it is not. Looked at under the lock: an extend or a destroy may have come first.
std::optional<Ending> overdue_ending(const state::Store& store, const state::SessionRow& row) {
    if (is_over(row)) return Ending{state::SessionState::expired, "ttl"};
    if (is_abandoned(store, row.id)) return Ending{state::SessionState::destroyed, std::string(k_abandoned)};
    return std::nullopt;
}

} // namespace

void take_overdue(Context& context) {
    state::Store& store = context.store();
    if (!store.is_on_its_machine()) return;
    std::vector<std::string> ids = abandoned_sessions(store);
    if (ids.size() > k_overdue_seen) ids.resize(k_overdue_seen);
    for (const auto& seen : store.overdue(wall_now_ms(), k_overdue_seen)) ids.push_back(seen.id);
    std::set<std::string> silent; // engines that did not answer
    std::size_t taken = 0;
    const std::int64_t until = boot_now_ms() + k_overdue_budget_ms;
    for (const auto& id : ids) {
        if (taken == k_overdue_at_once || boot_now_ms() > until) return;
        std::string endpoint;
        try {
            const auto held = store.try_lock_open(id);
            if (!held || has_failed(held->row) || silent.contains(held->row.endpoint)) continue;
            const auto ending = overdue_ending(store, held->row);
            endpoint = held->row.endpoint;
            if (ending && tear_down(context, held->row, *ending).empty()) ++taken;
        } catch (const Error& error) {
            if (error.signal() != 0) throw;
            // What stands in one session's way is not in the others'.
            if (error.code() == ErrorCode::engine_unreachable) silent.insert(endpoint);
        }
    }
}

} // namespace sandbox::app
