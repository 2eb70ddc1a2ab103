// SPDX-License-Identifier: Apache-2.0
#include "app/events.hpp"
#include "cli/event_text.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/times.hpp"
#include "cli/verbs.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>

namespace sandbox::cli {
namespace {

using state::Event;
using state::EventKind;

// Where the kernel can't tell when there is more.
constexpr int k_look_again_ms = 1000;

std::vector<Option> options() {
    return {{"follow", 'f', "", "what happens from now on, after what --since asks for"},
            {"since", 0, "WHEN", "from then on: a time (2026-11-29T18:20:00Z) or an age (10m)"},
            {"kind", 0, "KIND", "only this kind, such as exec.ended", true, false, Completer::event_kind},
            all_owners_option()};
}

std::vector<EventKind> parse_kinds(const std::vector<std::string>& names) {
    std::vector<EventKind> kinds;
    for (const std::string& name : names) {
        const auto kind = state::event_from_name(name);
        if (!kind) {
            throw Error(ErrorCode::usage, "no event is of kind " + quoted(name))
                .hint("there are " + join(state::event_names(), ", "));
        }
        kinds.push_back(*kind);
    }
    return kinds;
}

struct Wanted {
    std::int64_t since_ms = 0;
    std::vector<EventKind> kinds;      // empty: all
    std::vector<std::string> sessions; // ids or names; empty: all
    std::optional<std::string> owner;  // absent: every owner

    bool takes(const Event& event) const {
        const auto is_one_of = [](const auto& all, const auto& one) { return std::ranges::find(all, one) != all.end(); };
        return event.time_ms >= since_ms && is_of_owner(event) && (kinds.empty() || is_one_of(kinds, event.kind)) &&
               (sessions.empty() || is_one_of(sessions, event.session) || (!event.name.empty() && is_one_of(sessions, event.name)));
    }
    bool is_of_owner(const Event& event) const { return !owner || *owner == event.owner; }
};

std::string line_for(const Event& event) {
    const std::string who = !event.name.empty() ? event.name : !event.session.empty() ? event.session : "-";
    std::string kind(state::event_name(event.kind));
    kind.resize(std::max<std::size_t>(kind.size(), std::string_view("session.destroyed").size()), ' ');
    return printable(format_rfc3339(event.time_ms) + "  " + kind + "  " + who + "  " + event_text(event)) + "\n";
}

// Until something was appended. A reader that went away ends the program as SIGPIPE would, also when nothing happens.
void await_more(const state::EventReader& reader) {
    pollfd set[2] = {{reader.fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    if (::poll(set, 2, reader.fd() < 0 ? k_look_again_ms : -1) < 0 && errno != EINTR) throw errno_error("cannot wait for events");
    if ((set[1].revents & (POLLERR | POLLNVAL)) != 0) throw Error(ErrorCode::interrupted, "standard output is closed").signal(SIGPIPE);
}

int run(Invocation& call) {
    Wanted wanted;
    if (const auto text = call.value("since")) wanted.since_ms = parse_since(*text);
    else if (call.has("follow")) wanted.since_ms = wall_now_ms();
    wanted.kinds = parse_kinds(call.values("kind"));
    wanted.sessions = call.arguments();
    if (!call.has("all-owners")) wanted.owner = call.context().owner();
    const bool json = call.json();
    // Those that no event is about, whatever its time and kind: a mistyped name must not look like a quiet session.
    std::vector<std::string> unheard = wanted.sessions;
    bool is_silent = true;
    state::EventReader reader(state::EventLog::of_instance(call.context().lookup().directory()));
    for (bool is_first = true;; is_first = false) {
        std::string text;
        reader.read([&](const Event& event) {
            if (is_first && wanted.is_of_owner(event)) std::erase_if(unheard, [&](const auto& name) { return name == event.session || name == event.name; });
            if (!wanted.takes(event)) return;
            is_silent = false;
            text += json ? state::event_line(event) + "\n" : line_for(event);
            if (text.size() < 64 << 10) return;
            print_out(text);
            text.clear();
        });
        print_out(text);
        if (is_first && !call.quiet()) {
            for (const auto& name : unheard) say("nothing is recorded of a session " + quoted(name) + " of " + whose(call));
            if (is_silent && unheard.empty() && !call.has("follow")) say("no such events of " + whose(call));
        }
        if (!call.has("follow")) return 0;
        await_more(reader);
    }
}

} // namespace

const Command k_events{
    .name = "events",
    .alias = "",
    .group = "administration",
    .summary = "what happened to sessions: made, used, copied, ended",
    .usage = "[OPTIONS] [SESSION...]",
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session, true}},
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox events --since 1h", "sandbox events -f --json", "sandbox events --kind exec.ended job-981",
                                             "sandbox events --all-owners --kind gc.removed"};
    },
    .details = "Reads events.jsonl in the state directory, which keeps the last 40 MiB. Commands are in it as they were typed; their\n"
               "output, standard input and environment never are. With --json each event is one object a line.",
    .run = run};

} // namespace sandbox::cli
