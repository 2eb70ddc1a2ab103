// SPDX-License-Identifier: Apache-2.0
#include "app/gc.hpp"

#include "app/deadlines.hpp"
#include "app/events.hpp"
#include "app/gc_facts.hpp"
#include "app/presence.hpp"
#include "app/teardown.hpp"
#include "app/workers.hpp"
#include "app/workspaces.hpp"
#include "domain/labels.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

namespace sandbox::app {
namespace {

using domain::GcItem;
using state::SessionRow;
using state::SessionState;

Ending ending_for(GcItem::Why why) {
    switch (why) {
    case GcItem::Why::expired: return {SessionState::expired, "ttl"};
    case GcItem::Why::dead:
        return {SessionState::expired, k_ended_by_itself};
    case GcItem::Why::abandoned: return {SessionState::destroyed, std::string(k_abandoned)};
    case GcItem::Why::half_made: return {.reason = "half made", .forget = true};
    default: return {SessionState::destroyed, "finished by gc"};
    }
}

bool has_ended(Context& context, const SessionRow& row) {
    if (row.state != SessionState::running && row.state != SessionState::stopped && row.state != SessionState::lost) return false;
    if (row.container_id.empty()) return true;
    const auto container = context.engine_of(row.endpoint, row.engine_id).inspect_container(row.container_id);
    if (!container) return true;
    // One that its row calls stopped is kept.
    return row.state != SessionState::stopped && !container->running && !container->paused;
}

// Whether the reason that the plan saw still holds, now that the lock is ours.
bool is_still_due(Context& context, const SessionRow& row, GcItem::Why why) {
    switch (why) {
    case GcItem::Why::expired: return is_over(row);
    case GcItem::Why::dead: return has_ended(context, row);
    case GcItem::Why::abandoned: return !state::is_closed(row.state) && is_abandoned(context.store(), row.id);
    case GcItem::Why::half_made: return row.state == SessionState::creating;
    default: return !state::is_closed(row.state);
    }
}

bool is_mounted(engine::Client& engine, const std::string& volume) {
    engine::Filter filter;
    filter.volume = volume;
    return !engine.list_containers(filter).empty();
}

class Collector {
  public:
    Collector(Context& context, const domain::GcPolicy& policy) : m_context(context), m_policy(policy) {}

    // True when the item was dealt with; false when it was no longer due. Throws Error when it could not be.
    bool apply(const GcItem& item) {
        switch (item.action) {
        case GcItem::Action::end_session: return end_session(item);
        case GcItem::Action::forget_session: return forget_session(item);
        case GcItem::Action::remove_container: return remove_container(item);
        case GcItem::Action::remove_volume: return remove_volume(item);
        case GcItem::Action::remove_workspace: return remove_unused_workspace(item);
        case GcItem::Action::remove_leftover: return remove_leftover(item);
        }
        throw Error(ErrorCode::internal, "gc item of unknown kind");
    }

    // A session's end is told where it ends; what has none any more, here.
    void note(const GcItem& item) {
        if (item.action == GcItem::Action::end_session || item.action == GcItem::Action::forget_session) return;
        record_collected(m_context, domain::gc_action_name(item.action), item.id, domain::gc_why_name(item.why), item.owner);
    }

  private:
    bool end_session(const GcItem& item);
    bool forget_session(const GcItem& item);
    bool remove_container(const GcItem& item);
    bool remove_volume(const GcItem& item);
    bool remove_unused_workspace(const GcItem& item);
    bool remove_leftover(const GcItem& item);
    bool has_open_row(const engine::Labels& labels);
    engine::Client& engine_of(const GcItem& item);

    Context& m_context;
    const domain::GcPolicy& m_policy;
};

bool Collector::end_session(const GcItem& item) {
    state::Store& store = m_context.store();
    const auto held = store.try_lock_open(item.id);
    if (!held || !is_still_due(m_context, held->row, item.why)) return false;
    const auto left = tear_down(m_context, held->row, ending_for(item.why));
    if (!left.empty()) throw left_error(left);
    return true;
}

bool Collector::forget_session(const GcItem& item) {
    m_context.store().erase(item.id);
    return true;
}

bool Collector::has_open_row(const engine::Labels& labels) {
    const auto session = labels.find(domain::k_label_session);
    if (session == labels.end()) return false;
    const auto row = m_context.store().find(session->second);
    return row && !state::is_closed(row->state);
}

engine::Client& Collector::engine_of(const GcItem& item) {
    const auto space = item.engine.find(' ');
    return m_context.engine_of(item.engine.substr(0, space), item.engine.substr(space + 1));
}

bool Collector::remove_container(const GcItem& item) {
    auto& engine = engine_of(item);
    const auto container = engine.inspect_container(item.id);
    if (!container || has_open_row(container->labels)) return false;
    return engine.remove_container(item.id);
}

bool Collector::remove_volume(const GcItem& item) {
    auto& engine = engine_of(item);
    const auto volume = engine.inspect_volume(item.id);
    if (!volume || has_open_row(volume->labels)) return false;
    // Old agents may still run in the sessions of another state directory; then it is not due yet.
    if (item.why == GcItem::Why::old_agent && is_mounted(engine, item.id)) return false;
    return engine.remove_volume(item.id);
}

bool Collector::remove_unused_workspace(const GcItem& item) {
    if (item.why == GcItem::Why::half_made) return remove_half_made_workspace(m_context, item.owner, item.id);
    const auto workspace = m_context.store().find_workspace(item.owner, item.id);
    const std::int64_t age = m_policy.workspaces_older_than_ms.value_or(0);
    if (!workspace || workspace->last_used_ms > wall_now_ms() - age) return false;
    remove_workspace(m_context, item.owner, item.id);
    return true;
}

bool Collector::remove_leftover(const GcItem& item) { return m_context.store().remove_leftover(item.id); }

// Items of one kind at a time: a volume can go when the containers that mount it are gone.
void apply_all(Context& context, const domain::GcPolicy& policy, std::vector<GcOutcome>& outcomes) {
    for (std::size_t first = 0, last = 0; first < outcomes.size(); first = last) {
        const auto action = outcomes[first].item.action;
        while (last < outcomes.size() && outcomes[last].item.action == action) ++last;
        for_each_at_once(context, last - first, [&](Context& own, std::size_t i) {
            GcOutcome& outcome = outcomes[first + i];
            Collector collector(own, policy);
            try {
                outcome.done = collector.apply(outcome.item);
                if (outcome.done) collector.note(outcome.item);
            } catch (const Error& error) {
                outcome.error = error;
            }
        });
    }
}

} // namespace

GcReport collect_garbage(Context& context, const domain::GcPolicy& policy, DryRun dry_run) {
    GcReport report;
    context.use_reserve();
    state::Store& store = context.store();
    const auto lock = store.try_lock_gc();
    if (!lock) {
        report.another_at_work = true;
        return report;
    }
    if (!store.is_on_its_machine()) {
        report.warnings.push_back("this state directory was made on another machine; orphans are left alone");
    }
    const std::size_t before = report.warnings.size();
    const auto plan = domain::plan_gc(gather_gc_facts(context, report.warnings), policy);
    report.engine_missing = report.warnings.size() > before;
    for (const auto& item : plan) report.outcomes.push_back({item, false, std::nullopt});
    if (dry_run == DryRun::no) {
        apply_all(context, policy, report.outcomes);
        store.forget_workspace_locks();
        store.forget_dead_waiters();
    }
    return report;
}

} // namespace sandbox::app
