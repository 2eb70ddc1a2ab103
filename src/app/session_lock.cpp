// SPDX-License-Identifier: Apache-2.0
#include "app/session_lock.hpp"

#include "util/ending_signals.hpp"
#include "util/time.hpp"

namespace sandbox::app {
namespace {

constexpr Milliseconds k_lock_wait{30'000}; // longer than anybody holds it while an agent does not answer
constexpr Milliseconds k_lock_poll{20};

} // namespace

// A create or another change holds the lock for a second or two; flock(2) has no time-out, so it is polled.
FileLock lock_for_change(const state::Store& store, const state::SessionRow& row) {
    const std::int64_t give_up = boot_now_ms() + k_lock_wait.count();
    for (;;) {
        if (auto lock = store.try_lock_session(row.id)) return std::move(*lock);
        if (boot_now_ms() > give_up) {
            throw Error(ErrorCode::busy, "session " + row.id + " is held by another sandbox command")
                .hint("try again when it is done; a killed command frees the lock by itself");
        }
        wait_unless_ended(k_lock_poll);
    }
}

} // namespace sandbox::app
