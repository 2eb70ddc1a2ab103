// SPDX-License-Identifier: Apache-2.0
// Waiting until sessions have ended, and why they did. Whoever waits is somebody at work: as long as their agents can be held, the sessions do not idle.
//
//   Waiting waiting(context, rows); while (const auto ended = waiting.next(until)) say(ended->what);
#pragma once

#include "app/context.hpp"
#include "channel/hold.hpp"
#include "util/error.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sandbox::app {

enum class EndedBy {
    destroyed,    // somebody destroyed it
    ttl,          // its end came
    idle_timeout, // nobody used it
    stopped,      // it does not run any more and is kept (lifecycle.autoDestroy: false)
    lost,         // a crash, an engine restart, somebody who removed its container: nobody saw
};
std::string_view ended_by_name(EndedBy by); // snake_case, as in --json

struct EndedSession {
    state::SessionRow row;
    EndedBy by = EndedBy::lost;
    std::string what;          // for people: who it was and what became of it
    std::int64_t ended_ms = 0; // wall; when it was noticed, where nobody knows better
    std::optional<Error> error; // it could not be found out: the rest means nothing
};

class Waiting {
  public:
    Waiting(Context& context, std::vector<state::SessionRow> rows);
    // The next one that has ended, as soon as it has; absent when none is left, or `until` (boot_now_ms; absent: for ever) has passed. Throws interrupted
    // (SIGPIPE) when standard output is closed meanwhile.
    std::optional<EndedSession> next(std::optional<std::int64_t> until);
    // Those that have not ended.
    std::vector<state::SessionRow> left() const;

  private:
    struct Watched {
        state::SessionRow row;
        std::unique_ptr<channel::Hold> hold;
        std::optional<channel::HoldEnd> end; // what the last hold said
        std::int64_t look_at = 0;
        std::int64_t doubtful_since = 0; // that it is neither there nor gone
    };
    std::optional<EndedSession> look(Watched& one);
    std::optional<EndedSession> look_at_container(Watched& one, const std::optional<engine::ContainerInfo>& container);
    void hold(Watched& one);
    static bool is_doubtful_too_long(Watched& one, std::int64_t longest_ms);
    void sleep(std::optional<std::int64_t> until);

    Context& m_context;
    std::list<Watched> m_watched;
    bool m_is_first_round = true;
};

} // namespace sandbox::app
