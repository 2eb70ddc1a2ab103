// SPDX-License-Identifier: Apache-2.0
#include "app/reuse.hpp"

#include "app/deadlines.hpp"
#include "app/sessions.hpp"
#include "app/teardown.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

namespace sandbox::app {
namespace {

std::string told(const domain::Difference& difference) {
    if (difference.theirs.empty() && difference.ours.empty()) return difference.path + " differs";
    const auto value = [](const std::string& text) { return text.empty() ? "not set" : shortened(text, 60); };
    return difference.path + " is " + value(difference.theirs) + " there and " + value(difference.ours) + " here";
}

void check_is_same(const state::SessionRow& row, const domain::Manifest& manifest) {
    if (row.manifest_digest == domain::manifest_digest(manifest)) return;
    const auto found = domain::differences(domain::from_canonical_json(row.manifest_json), manifest);
    if (found.empty()) return; // made by a version that wrote the same otherwise
    std::string message = "session " + quoted(row.name) + " (" + row.id + ") was made of another manifest: " + told(found.front());
    if (found.size() > 1) message += ", and " + std::to_string(found.size() - 1) + " more";
    throw Error(ErrorCode::conflict, message).hint("sandbox destroy " + row.name + " makes way for the new one");
}

Error unusable(const state::SessionRow& row, const std::string& what) {
    return Error(ErrorCode::conflict, "session " + quoted(row.name) + " (" + row.id + ") " + what);
}

// One whose container is there and does not run: the row of one that has stopped by itself says nothing of it.
void check_runs(const state::SessionRow& row, const engine::ContainerInfo& container) {
    if (container.paused) throw unusable(row, "is paused").hint("sandbox resume " + row.name + " lets it run on");
    if (container.running) return;
    if (is_kept_stopped(container)) throw unusable(row, "is stopped").hint("sandbox start " + row.name + " lets it run again");
    throw unusable(row, "has ended, and its container is still there").hint("sandbox destroy " + row.name + " clears away what is left");
}

} // namespace

std::optional<state::SessionRow> find_reusable(Context& context, const domain::Manifest& manifest) {
    state::Store& store = context.store();
    auto row = store.find_by_name(context.owner(), manifest.name);
    if (row && row->state == state::SessionState::creating) {
        // Whoever makes it holds its lock until it is there.
        const std::string id = row->id;
        const auto lock = store.lock_session(id);
        // It is gone already, and whoever ended it has removed the file that the wait has brought back.
        if (const auto now = store.find(id); !now || state::is_closed(now->state)) store.forget_lock(id);
        row = store.find_by_name(context.owner(), manifest.name);
    }
    if (!row || state::is_closed(row->state)) return std::nullopt;
    if (row->state == state::SessionState::stopped && !is_over(*row)) {
        check_is_same(*row, manifest);
        throw unusable(*row, "is stopped").hint("sandbox start " + row->name + " lets it run again");
    }
    // Over, ended by itself, or half made by somebody who died: no session, and in nobody's way.
    if (row->state != state::SessionState::running || is_over(*row)) return std::nullopt;
    if (clear_if_ended(context, *row, manifest.workspace.id) == Cleared::yes) return std::nullopt;
    check_is_same(*row, manifest);
    const auto container = context.engine_of(row->endpoint, row->engine_id).inspect_container(row->container_id);
    if (!container) return std::nullopt; // gone since
    check_runs(*row, *container);
    return row;
}

} // namespace sandbox::app
