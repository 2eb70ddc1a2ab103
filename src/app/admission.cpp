// SPDX-License-Identifier: Apache-2.0
#include "app/admission.hpp"

#include "app/teardown.hpp"
#include "domain/labels.hpp"
#include "util/error.hpp"

#include <algorithm>
#include <set>

namespace sandbox::app {
namespace {

using state::SessionState;

// Places come free when sessions end, which takes a second by itself: looking more often would find nothing sooner.
constexpr Milliseconds k_between_looks{250};
constexpr std::int64_t k_between_sweeps_ms = 2000;

// A ticket that is given back whatever happens. Should even that fail, its lock ends with the process.
class Place {
  public:
    Place(state::Store& store, const std::string& owner) : m_store(store), m_ticket(store.enter_queue(owner)) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
        try {
            m_store.leave_queue(m_ticket);
        } catch (const std::exception&) {
        }
    }
    const state::QueueTicket& ticket() const { return m_ticket; }

  private:
    state::Store& m_store;
    state::QueueTicket m_ticket;
};

// A session that ended by itself keeps its row until somebody looks. What may be brought back stays, as lost.
void release_if_ended(Context& context, const state::SessionRow& seen) {
    if (seen.state != SessionState::running) {
        clear_if_ended(context, seen, {});
        return;
    }
    const auto held = context.store().try_lock_open(seen.id);
    if (!held || held->row.state != SessionState::running) return;
    if (context.engine_of(held->row.endpoint, held->row.engine_id).inspect_container(held->row.container_id)) return;
    context.store().transition(seen.id, SessionState::running, SessionState::lost, k_ended_by_itself);
}

// One question to the engine for all sessions, and more only for those that it does not have.
void sweep(Context& context) {
    take_overdue(context);
    state::Store& store = context.store();
    engine::Filter filter;
    filter.labels = {{domain::k_label_instance, store.instance()}};
    std::set<std::string> there;
    try {
        for (const auto& container : context.engine().list_containers(filter)) there.insert(container.id);
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        return; // no answer frees no place, and no waiting ends by it
    }
    for (const auto& row : store.list({})) {
        if (row.state == SessionState::lost || there.contains(row.container_id)) continue;
        try {
            release_if_ended(context, row);
        } catch (const Error& error) {
            if (error.signal() != 0) throw;
            // Another engine that does not answer: its sessions keep their places (law 3).
        }
    }
}

} // namespace

void insert_when_admitted(Context& context, state::SessionRow& row, const AdmissionRules& rules, Interrupt& interrupt,
                          const std::function<void()>& stamp) {
    state::Store& store = context.store();
    if (rules.capacity.is_unlimited()) {
        stamp();
        store.insert(row);
        return;
    }
    std::string reason;
    const auto rule = [&](const state::QueueView& view, const std::string& id) {
        std::vector<domain::Waiter> waiting;
        for (const auto& waiter : view.waiting) waiting.push_back({waiter.id, waiter.owner, waiter.turn, waiter.ticket});
        const auto next = domain::admitted(rules.capacity, view.open, std::move(waiting));
        reason = domain::full_reason(rules.capacity, view.open, row.owner);
        return std::ranges::find(next, id) != next.end();
    };
    const Place place(store, row.owner);
    const std::int64_t deadline = boot_now_ms() + rules.wait.count();
    std::optional<FileLock> sweeping; // kept while waiting, so that of many waiters one asks the engine
    std::int64_t next_sweep = 0;
    for (bool told = false;; told = true) {
        stamp();
        if (store.insert_if(row, place.ticket(), rule)) return;
        if (!sweeping) sweeping = store.try_lock_sweep();
        if (sweeping && boot_now_ms() >= next_sweep) {
            sweep(context);
            next_sweep = boot_now_ms() + k_between_sweeps_ms;
            if (store.insert_if(row, place.ticket(), rule)) return;
        }
        // Somebody may have taken the name meanwhile, and no place is worth waiting for then.
        store.check_is_free(row);
        if (reason.empty()) reason = "others who came first wait for a place";
        const std::int64_t left = deadline - boot_now_ms();
        if (left <= 0) {
            throw Error(ErrorCode::no_capacity, reason)
                .hint(rules.wait.count() > 0 ? "wait longer, or end a session: sandbox ps --all-owners lists them"
                                             : "--wait 60s waits for a place; sandbox ps --all-owners lists the sessions");
        }
        if (!told) context.progress("waiting for a place: " + reason);
        interrupt.wait(std::min(k_between_looks, Milliseconds(left)));
    }
}

} // namespace sandbox::app
